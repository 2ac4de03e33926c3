/** A tool call as the action that it is to the gateway, and the way back to its arguments. */
import type { Action, Json, JsonObject } from "./answers.js";
import { NotApplicable, NotShowable } from "./errors.js";

/** Which argument fills which field of the action. */
export interface ToolAs {
  action_type: string;
  query?: string;
  code?: string;
  target?: string;
}

export type ToolMap = Record<string, string | ToolAs>;

const FIELDS = ["query", "code", "target"] as const;
type Field = (typeof FIELDS)[number];
const MAX_DEPTH = 60;
/** Engines prove what stands in these fields, so a tool that goes by one of these names fills them. */
const ENGINE_BOUND = new Set([
  "calculate",
  "verify_math",
  "verify",
  "verify_logic",
  "prove",
  "verify_fact",
  "execute_sql",
  "execute_code",
]);

export interface ToolCall {
  toolName: string;
  arguments: Record<string, unknown>;
  action: Action;
  taken: Partial<Record<Field, string>>;
}

/** A tool that the map does not name goes by its own name. */
export function toolCall(toolName: string, given: Record<string, unknown>, map: ToolMap = {}): ToolCall {
  const rule = Object.hasOwn(map, toolName) ? map[toolName] : undefined;
  const taken: Partial<Record<Field, string>> = {};
  for (const field of FIELDS) {
    if (typeof rule === "object") {
      if (rule[field] !== undefined) taken[field] = rule[field];
    } else if ((rule !== undefined || ENGINE_BOUND.has(toolName)) && typeof given[field] === "string") {
      taken[field] = field;
    }
  }
  const type = typeof rule === "object" ? rule.action_type : (rule ?? toolName);
  const action: Action = { type };
  for (const [field, name] of Object.entries(taken) as [Field, string][]) {
    const value = given[name];
    if (typeof value !== "string") throw new NotShowable(`the argument '${name}' is the action's ${field}, and no text`);
    action[field] = value;
  }
  const names = new Set(Object.values(taken));
  const rest: JsonObject = {};
  for (const [name, value] of Object.entries(given)) {
    if (!names.has(name) && value !== undefined) define(rest, name, plain(value));
  }
  if (Object.keys(rest).length) action.parameters = rest;
  return { toolName, arguments: given, action, taken };
}

/** The arguments to run with: as they are, but for what the granted action changes. */
export function argumentsFor(call: ToolCall, granted: Partial<Action> & { action_type?: string }): Record<string, unknown> {
  if ((granted.type ?? granted.action_type) !== call.action.type) throw new NotApplicable("the granted action is of another type");
  const result: Record<string, unknown> = { ...call.arguments };
  for (const field of FIELDS) {
    const value = granted[field] ?? undefined;
    if (value === call.action[field]) continue;
    const name = call.taken[field];
    if (name === undefined || typeof value !== "string") {
      throw new NotApplicable(`the granted action changes its ${field}, which no argument holds`);
    }
    result[name] = value;
  }
  const proposed = call.action.parameters ?? {};
  const parameters = granted.parameters ?? {};
  for (const name of Object.keys(proposed)) if (!Object.hasOwn(parameters, name)) delete result[name];
  for (const [name, value] of Object.entries(parameters)) {
    const before = Object.hasOwn(proposed, name) ? proposed[name] : undefined;
    if (before !== undefined && isSame(value, before)) continue;
    if (before !== undefined && !isSame(before, call.arguments[name])) {
      throw new NotApplicable(`the argument '${name}' is no plain value, so it can't be changed`);
    }
    define(result, name, value);
  }
  return result;
}

/** The JSON form of an argument. */
export function plain(value: unknown, depth = 0): Json {
  if (value === null || typeof value === "boolean" || typeof value === "string") return value;
  if (depth > MAX_DEPTH) throw new NotShowable("the arguments are nested too deep");
  if (typeof value === "number") {
    if (!Number.isFinite(value)) throw new NotShowable(`${value} has no JSON form`);
    return value;
  }
  if (Array.isArray(value)) return value.map((item) => (item === undefined ? null : plain(item, depth + 1)));
  if (value instanceof Date) return value.toISOString();
  if (typeof value === "object" && [Object.prototype, null].includes(Object.getPrototypeOf(value) as object | null)) {
    const result: JsonObject = {};
    for (const [name, item] of Object.entries(value)) if (item !== undefined) define(result, name, plain(item, depth + 1));
    return result;
  }
  throw new NotShowable(`an argument of type ${typeof value} has no JSON form`);
}

/** `__proto__` is a name like any other. */
function define(target: Record<string, unknown>, name: string, value: unknown): void {
  Object.defineProperty(target, name, { value, enumerable: true, configurable: true, writable: true });
}

function isSame(one: unknown, other: unknown): boolean {
  return canonical(one) === canonical(other);
}

/** RFC 8785, for what has one exact form everywhere: no fractions, no integers beyond 2^53. */
export function canonical(value: unknown): string | undefined {
  if (value === null || typeof value === "boolean") return String(value);
  if (typeof value === "string") return JSON.stringify(value);
  if (typeof value === "number") return Number.isSafeInteger(value) ? String(value) : `~${value}`;
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (typeof value !== "object") return undefined;
  const members = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
  return `{${members.map(([name, item]) => `${JSON.stringify(name)}:${canonical(item)}`).join(",")}}`;
}

/** The gateway's hash of an action; undefined where it holds a number that has no one exact form. */
export async function actionHash(action: Partial<Action> & { action_type?: string }): Promise<string | undefined> {
  const members = {
    action_type: action.type ?? action.action_type,
    query: action.query ?? null,
    code: action.code ?? null,
    target: action.target ?? null,
    parameters: action.parameters ?? {},
  };
  const text = canonical(members);
  if (text === undefined || hasOddNumber(members)) return undefined;
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function hasOddNumber(value: unknown): boolean {
  if (typeof value === "number") return !Number.isSafeInteger(value);
  return typeof value === "object" && value !== null && Object.values(value).some(hasOddNumber);
}
