import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { parseAnswer, readDecision } from "../src/answers.js";
import { actionHash, argumentsFor, toolCall } from "../src/tools.js";

// From build/test, where this runs.
const vectors = JSON.parse(
  readFileSync(new URL("../../../../tests/vectors/sdk-contract.json", import.meta.url), "utf8"),
) as Record<string, any[]>;

function named(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    return (error as Error).name;
  }
  return "nothing went wrong";
}

for (const vector of vectors["answers"]!) {
  test(`an answer: ${vector.name}`, () => {
    const body = () => parseAnswer(vector.status, vector.body, vector.content_type);
    const read = () => readDecision(vector.status, body(), "t");
    if (/[a-z]/.test(vector.expect)) assert.equal(named(read), vector.expect);
    else assert.equal(read().decision, vector.expect);
  });
}

for (const vector of vectors["tool_calls"]!) {
  test(`a tool call: ${vector.name}`, () => {
    const call = () => toolCall(vector.tool, vector.arguments, vector.map);
    if (vector.error) assert.equal(named(call), vector.error);
    else assert.equal(JSON.stringify(call().action), JSON.stringify(vector.action));
  });
}

for (const vector of vectors["grants"]!) {
  test(`a grant: ${vector.name}`, () => {
    const granted = () => argumentsFor(toolCall(vector.tool, vector.arguments, vector.map), vector.granted);
    if (vector.error) assert.equal(named(granted), vector.error);
    else assert.deepEqual(granted(), vector.expect);
  });
}

for (const vector of vectors["hashes"]!) {
  test(`a hash: ${vector.name}`, async () => {
    assert.equal(await actionHash(vector.action), vector.sha256);
  });
}

test("a fraction has no exact form, so it has no hash", async () => {
  assert.equal(await actionHash({ type: "t", parameters: { n: 1.5 } }), undefined);
});
