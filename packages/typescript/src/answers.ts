/** Reading the gateway's answers. Fails closed: what is not understood is not an approval. */
import { GatewayUnavailable, RequestRefused } from "./errors.js";

export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };
export type JsonObject = { [name: string]: Json };
export type DecisionName = "APPROVED" | "DENIED" | "CORRECTED" | "PENDING" | "BUDGET_EXCEEDED";

export interface Action {
  type: string;
  query?: string;
  code?: string;
  target?: string;
  parameters?: JsonObject;
}

export interface Decision {
  decision: DecisionName;
  activity_id?: string | null;
  corrected_action?: Action | null;
  approval?: { id: string } | null;
  error?: { code: string; message: string } | null;
  [name: string]: unknown;
}

export interface Approval {
  status: string;
  action?: Action;
  action_hash?: string;
  votes?: { note?: string | null }[];
  [name: string]: unknown;
}

const DECISIONS = new Set(["APPROVED", "DENIED", "CORRECTED", "PENDING", "BUDGET_EXCEEDED"]);
const MAX_ANSWER = 16 * 1024 * 1024;

export const mayAct = (decision: Decision): boolean =>
  decision.decision === "APPROVED" || decision.decision === "CORRECTED";

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The answer's object. What calls itself something else than JSON comes from something in between. */
export function parseAnswer(status: number, text: string, contentType: string | null): Record<string, unknown> {
  if (text.length > MAX_ANSWER) throw new GatewayUnavailable(`the gateway's answer has ${text.length} characters`);
  const mediaType = (contentType ?? "application/json").split(";")[0]!.trim().toLowerCase();
  if (mediaType !== "application/json") {
    throw new GatewayUnavailable(`the gateway answered ${status} with '${mediaType.slice(0, 80)}', not JSON`);
  }
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    throw new GatewayUnavailable(`the gateway answered ${status} with something that is not JSON`);
  }
  if (!isObject(body)) throw new GatewayUnavailable(`the gateway answered ${status} with something that is not an object`);
  if (hasKeyTwice(text)) throw new GatewayUnavailable("a key of the gateway's answer is given more than once");
  return body;
}

/** Of two decisions in one answer nobody could say which was meant, and `JSON.parse` takes the last. */
function hasKeyTwice(text: string): boolean {
  const open: (Set<string> | null)[] = [];
  let last = "";
  for (const match of text.matchAll(/"(?:[^"\\]|\\.)*"|[{}[\]:]/g)) {
    const token = match[0];
    if (token === "{") open.push(new Set());
    else if (token === "[") open.push(null);
    else if (token === "}" || token === "]") open.pop();
    else if (token === ":") {
      const keys = open[open.length - 1];
      if (keys?.has(last)) return true;
      keys?.add(last);
    } else last = JSON.parse(token) as string;
  }
  return false;
}

export function refusal(status: number, body: Record<string, unknown>, retryAfter?: number): Error {
  const error = body["error"];
  if (!isObject(error) || status >= 500) {
    const said = isObject(error) ? String(error["message"]) : "no reason given";
    return new GatewayUnavailable(`the gateway answered ${status}: ${said}`);
  }
  return new RequestRefused(status, error, retryAfter);
}

/** Any body with a known decision is an answer; one that lets the agent act must come with 200. */
export function readDecision(status: number, body: Record<string, unknown>, actionType: string): Decision {
  const decision = body["decision"];
  if (typeof decision !== "string" || !DECISIONS.has(decision)) {
    if (decision === undefined && "error" in body) throw refusal(status, body);
    throw new GatewayUnavailable(`the gateway answered ${status} without a decision it could mean`);
  }
  if (["APPROVED", "CORRECTED", "PENDING"].includes(decision) && status !== 200) {
    throw new GatewayUnavailable(`the gateway answered ${decision} with status ${status}`);
  }
  const problem = nonsense(decision, body, actionType);
  if (problem !== undefined) throw new GatewayUnavailable(`the gateway answered ${decision} ${problem}`);
  return body as Decision;
}

/** What a decision must come with, so that nobody acts on half an answer. */
function nonsense(decision: string, body: Record<string, unknown>, actionType: string): string | undefined {
  const corrected = body["corrected_action"] ?? null;
  const approval = body["approval"] ?? null;
  const error = body["error"] ?? null;
  if (decision === "CORRECTED" && !isObject(corrected)) return "without the corrected action";
  if (corrected !== null && !isObject(corrected)) return "with a corrected action that is none";
  if (isObject(corrected) && (corrected["type"] ?? corrected["action_type"]) !== actionType) return "with an action of another type";
  if (approval !== null && !(isObject(approval) && typeof approval["id"] === "string")) return "with an approval that has no id";
  if (error !== null && !(isObject(error) && "code" in error && "message" in error)) return "with an error that says nothing";
  if (error !== null && (decision === "APPROVED" || decision === "CORRECTED")) return "beside an error";
  if ("approved" in body && body["approved"] !== (decision === "APPROVED")) return "with an 'approved' that says otherwise";
  const activity = body["activity_id"] ?? null;
  if (activity === null && ["APPROVED", "CORRECTED", "PENDING"].includes(decision)) return "without the activity_id of its record";
  return activity !== null && typeof activity !== "string" ? "with an activity_id that is no text" : undefined;
}

/** An ordinary answer: 2xx with these fields. */
export function expectFields(status: number, body: Record<string, unknown>, ...fields: string[]): Record<string, unknown> {
  if (status < 200 || status >= 300) throw refusal(status, body);
  const missing = fields.filter((name) => !(name in body));
  if (missing.length) throw new GatewayUnavailable(`the gateway's answer lacks ${missing.join(", ")}`);
  return body;
}
