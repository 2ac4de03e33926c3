import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";

import { ActionDenied, AnswerMismatch, GatewayUnavailable, QWEDClient, ToolGate, ToolRefused } from "../src/index.js";
import { answerName } from "../src/questions.js";
import { client, newAgent, newGate, person } from "./support/gateway.js";

test("an approved tool runs once with its arguments", async () => {
  const ran: unknown[] = [];
  const result = await (await newGate()).run("lookup_order", { order: "A" }, (given) => (ran.push(given), "done"));

  assert.equal(result, "done");
  assert.deepEqual(ran, [{ order: "A" }]);
});

test("a denied tool does not run, and the model is told why", async () => {
  const gate = await newGate();

  await assert.rejects(
    gate.run("wipe_disk", {}, () => assert.fail("it ran")),
    (error) => error instanceof ToolRefused && /QWED-AGENT-TRUST-001/.test(error.message),
  );
});

test("a corrected tool runs corrected", async () => {
  const result = await (await newGate()).run("calculate", { expression: "2+2=5" }, (given) => given);

  assert.deepEqual(result, { expression: "2+2=4" });
});

test("a pending tool waits for a person and runs as the person changed it", async () => {
  const agentId = await newAgent();
  const conversation = client.conversation(agentId);
  const action = { type: "publish_page", parameters: { order: "A" } };
  const denied = await conversation.permit(action, 0).catch((error: unknown) => error);
  assert.ok(denied instanceof ActionDenied && denied.decision.decision === "PENDING");
  await person.approve(denied.decision.approval!.id, { action: { type: "publish_page", parameters: { order: "B" } } });

  const grant = await conversation.permit(action, 20);

  assert.deepEqual(grant.action.parameters, { order: "B" });
  await conversation.report(grant, "success");
});

test("what a person denies does not run", async () => {
  const conversation = client.conversation(await newAgent());
  const action = { type: "publish_page", parameters: { order: "A" } };
  const pending = (await conversation.permit(action, 0).catch((error: unknown) => error)) as ActionDenied;
  await person.deny(pending.decision.approval!.id, { note: "not on a Friday" });

  await assert.rejects(conversation.permit(action, 20), /not on a Friday/);
});

test("many steps at once each get their own number", async () => {
  const conversation = client.conversation(await newAgent());
  const orders = Array.from({ length: 12 }, (_, n) => ({ type: "lookup_order", parameters: { order: String(n) } }));
  const decisions = await Promise.all(orders.map((action) => conversation.verify(action)));

  assert.deepEqual(new Set(decisions.map((decision) => decision.decision)), new Set(["APPROVED"]));
  assert.equal(new Set(decisions.map((decision) => decision.activity_id)).size, 12);
});

test("without a gateway nothing runs", async () => {
  const nobody = new QWEDClient({ apiKey: "k", baseUrl: "http://127.0.0.1:9", maxTries: 1 });

  await assert.rejects(nobody.verifyAction("agent_1", { type: "t" }), GatewayUnavailable);
  const gate = new ToolGate({ client: nobody, agentId: "agent_1" });
  await assert.rejects(gate.run("t", {}, () => assert.fail("it ran")), /could not be asked/);
});

test("a lost answer is asked for again under the same key", async () => {
  const keys: unknown[] = [];
  const server = createServer((request, response) => {
    keys.push(request.headers["idempotency-key"]);
    if (keys.length === 1) return void response.destroy();
    const body = JSON.stringify({ decision: "APPROVED", activity_id: "act_1" });
    response.setHeader("content-type", "application/json");
    void answerName(String(keys[1]), 200, new TextEncoder().encode(body)).then((name) => {
      response.setHeader("qwed-answer", name);
      response.end(body);
    });
  }).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  const decision = await new QWEDClient({ apiKey: "k", baseUrl }).verifyAction("agent_1", { type: "t" });
  server.close();

  assert.equal(decision.decision, "APPROVED");
  assert.equal(keys.length, 2);
  assert.equal(keys[0], keys[1]);
});

test("an approval that nobody recorded is none", async () => {
  const loose = new QWEDClient({ apiKey: "k", fetch: answering({ decision: "APPROVED" }) });

  await assert.rejects(loose.conversation("agent_1").permit({ type: "t" }), /activity_id/);
});

/** Answers every question with this, under its name or another's, with a body or a changed one. */
function answering(body: object, change: { key?: string; text?: string; unnamed?: boolean } = {}): typeof fetch {
  return (async (_: unknown, init: RequestInit) => {
    const key = change.key ?? new Headers(init.headers).get("idempotency-key")!;
    const text = JSON.stringify(body);
    const name = await answerName(key, 200, new TextEncoder().encode(text));
    const headers = { "content-type": "application/json", ...(change.unnamed ? {} : { "qwed-answer": name }) };
    return new Response(change.text ?? text, { status: 200, headers });
  }) as typeof fetch;
}

const APPROVED = { decision: "APPROVED", activity_id: "act_1" };
const wrong: [string, { key?: string; text?: string; unnamed?: boolean }][] = [
  ["for another question", { key: "ffffffffffffffffffffffffffffffff" }],
  ["that was changed on its way", { text: JSON.stringify({ ...APPROVED, activity_id: "act_2" }) }],
  ["that names no question", { unnamed: true }],
];
for (const [what, change] of wrong) {
  test(`an answer ${what} is none`, async () => {
    const mixed = new QWEDClient({ apiKey: "k", maxTries: 1, fetch: answering(APPROVED, change) });

    await assert.rejects(mixed.verifyAction("agent_1", { type: "t" }), AnswerMismatch);
  });
}

test("after an answer to another question the right one is asked for, under the same key", async () => {
  const keys: (string | null)[] = [];
  const right = answering(APPROVED);
  const swapped = answering(APPROVED, { key: "another" });
  const mixing = ((url: unknown, init: RequestInit) => {
    keys.push(new Headers(init.headers).get("idempotency-key"));
    return (keys.length === 1 ? swapped : right)(url as string, init);
  }) as typeof fetch;
  const decision = await new QWEDClient({ apiKey: "k", fetch: mixing }).verifyAction("agent_1", { type: "t" });

  assert.equal(decision.decision, "APPROVED");
  assert.equal(new Set(keys).size, 1);
  assert.equal(keys.length, 2);
});

test("a permit comes with the call and goes to whoever runs the tool", async () => {
  const gate = new ToolGate({ client, agentId: await newAgent(), permits: true });
  const permit = await gate.run("lookup_order", { order: "A" }, (_, given) => given);
  const none = await (await newGate()).run("lookup_order", { order: "A" }, (_, given) => given);

  assert.equal(permit?.split(".").length, 3);
  assert.equal(none, undefined);
});

test("an empty key and a name that changes the path are mistakes", async () => {
  assert.throws(() => new QWEDClient({ apiKey: "" }), /empty/);
  await assert.rejects(client.verifyAction("../x", { type: "t" }), TypeError);
});
