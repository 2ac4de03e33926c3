import assert from "node:assert/strict";
import { test } from "node:test";

import { AIMessage } from "@langchain/core/messages";
import { tool as langchainTool } from "@langchain/core/tools";
import { ToolNode } from "@langchain/langgraph/prebuilt";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { RunContext, tool as openaiTool } from "@openai/agents";
import { tool as vercelTool } from "ai";
import { z } from "zod";

import { ToolGate, ToolRefused } from "../src/index.js";
import { protect as protectLangGraph } from "../src/langgraph.js";
import { protect as protectMcp } from "../src/mcp.js";
import { protect as protectOpenai } from "../src/openai-agents.js";
import { protect as protectVercel } from "../src/vercel-ai.js";
import { client as gatewayClient, newAgent, newGate } from "./support/gateway.js";

const schema = z.object({ order: z.string() });

test("tools of the Vercel AI SDK are decided before they run", async () => {
  const ran: string[] = [];
  const make = () => vercelTool({ inputSchema: schema, execute: async ({ order }) => (ran.push(order), `done ${order}`) });
  const tools = protectVercel(await newGate(), { lookup_order: make(), wipe_disk: make() });
  const options = { toolCallId: "1", messages: [] } as any;

  assert.equal(await tools.lookup_order.execute!({ order: "A" }, options), "done A");
  await assert.rejects(async () => tools.wipe_disk.execute!({ order: "B" }, options), ToolRefused);
  assert.deepEqual(ran, ["A"]);
  assert.throws(() => protectVercel({} as any, { remote: {} }), /nothing could be verified/);
});

test("a permit reaches the tools of the Vercel AI SDK and the server behind a client of MCP", async () => {
  const agentId = await newAgent();
  const gate = new ToolGate({ client: gatewayClient, agentId, permits: true });
  const seen: unknown[] = [];
  const execute = async (_: unknown, options: any) => void seen.push(options.permit);
  const tools = protectVercel(gate, { lookup_order: vercelTool({ inputSchema: schema, execute }) as any });
  await tools.lookup_order.execute!({ order: "A" }, { toolCallId: "1", messages: [] } as any);
  const plain = { callTool: async (params: any) => void seen.push(params._meta["qwed/permit"]) };
  await protectMcp(gate, plain).callTool({ name: "lookup_order", arguments: { order: "B" } });

  assert.ok(seen.every((permit) => typeof permit === "string" && permit.split(".").length === 3));
  assert.equal(new Set(seen).size, 2);
});

test("tools in a graph of LangGraph are decided before they run", async () => {
  const ran: string[] = [];
  const make = (name: string) =>
    langchainTool(async ({ order }: { order: string }) => (ran.push(order), `done ${order}`), { name, schema, description: name });
  const node = new ToolNode(protectLangGraph(await newGate(), [make("lookup_order"), make("wipe_disk")]));
  const asked = ["lookup_order", "wipe_disk"].map((name) => ({ name, args: { order: name }, id: name, type: "tool_call" as const }));

  const answer = await node.invoke({ messages: [new AIMessage({ content: "", tool_calls: asked })] });

  const said = answer.messages.map((message: { content: unknown }) => String(message.content));
  assert.equal(said[0], "done lookup_order");
  assert.match(said[1]!, /QWED did not let wipe_disk run/);
  assert.deepEqual(ran, ["lookup_order"]);
});

test("tools of the OpenAI Agents SDK are decided before they run", async () => {
  const ran: string[] = [];
  const make = (name: string) =>
    openaiTool({ name, description: name, parameters: schema, execute: async ({ order }) => (ran.push(order), `done ${order}`) });
  const [lookup, wipe] = protectOpenai(await newGate(), [make("lookup_order"), make("wipe_disk")]);
  const context = new RunContext();

  assert.equal(await lookup!.invoke(context, '{"order":"A"}'), "done A");
  await assert.rejects(wipe!.invoke(context, '{"order":"B"}'), ToolRefused);
  assert.deepEqual(ran, ["A"]);
});

test("tools behind a client of the MCP SDK are decided before the server hears of them", async () => {
  const ran: string[] = [];
  const server = new McpServer({ name: "shop", version: "1" });
  for (const name of ["lookup_order", "wipe_disk"]) {
    server.registerTool(name, { inputSchema: { order: z.string() } }, async ({ order }) => {
      ran.push(order);
      return { content: [{ type: "text", text: `done ${order}` }] };
    });
  }
  const [near, far] = InMemoryTransport.createLinkedPair();
  const plain = new Client({ name: "test", version: "1" });
  await Promise.all([server.connect(far), plain.connect(near)]);
  const client = protectMcp(await newGate(), plain);

  const done: any = await client.callTool({ name: "lookup_order", arguments: { order: "A" } });
  const denied: any = await client.callTool({ name: "wipe_disk", arguments: { order: "B" } });
  const listed = await client.listTools();
  await client.close();

  assert.equal(done.content[0].text, "done A");
  assert.ok(denied.isError && /QWED did not let wipe_disk run/.test(denied.content[0].text));
  assert.equal(listed.tools.length, 2);
  assert.deepEqual(ran, ["A"]);
});
