/** A real gateway, started by whoever runs these tests. */
import { QWEDClient, ToolGate } from "../../src/index.js";

const baseUrl = process.env["QWED_BASE_URL"]!;
export const client = new QWEDClient({ apiKey: process.env["QWED_API_KEY"]!, baseUrl });
export const person = new QWEDClient({ apiKey: process.env["QWED_OPERATOR_KEY"]!, baseUrl });

export async function newAgent(): Promise<string> {
  const permissions = { allowed_engines: ["math", "logic", "sql"] };
  const agent = await client.registerAgent({ name: "tester", type: "autonomous", principal_id: "acme", permissions });
  return String(agent["agent_id"]);
}

export async function newGate(waitSeconds = 20): Promise<ToolGate> {
  return new ToolGate({ client, agentId: await newAgent(), waitSeconds });
}
