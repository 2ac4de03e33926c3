// Talking to the gateway. The key is never here: the browser keeps a cookie that scripts cannot read.
import { visible } from "./format.js";

export class ApiError extends Error {
  constructor(status, code, message, details = null) {
    super(message);
    this.status = status;
    this.code = code;
    this.details = details;
  }
}

let token = "";
export const session = { signed_in: false };

export const hasScope = (scope) => (session.scopes ?? []).includes(scope);

// Numbers that JavaScript would round keep their digits: whoever approves an amount sees the amount.
// Objects have no prototype: whatever an agent names its members, they are members and nothing else.
const exact = (_, value, context) => {
  if (typeof value === "number" && context?.source !== undefined && JSON.rawJSON && String(value) !== context.source) {
    return JSON.rawJSON(context.source);
  }
  if (value === null || typeof value !== "object" || Array.isArray(value) || JSON.isRawJSON?.(value)) return value;
  const bare = Object.create(null);
  for (const [name, member] of Object.entries(value)) bare[name] = member;
  return bare;
};

export const parse = (text) => JSON.parse(text, exact);

// What was asked and not answered yet. Signing out waits for it, so that nothing is asked by nobody.
const underWay = new Set();
const PATIENCE_MS = 2000;

const call = (method, path, body) => {
  const answer = send(method, path, body);
  const done = answer.catch(() => null).then(() => underWay.delete(done));
  underWay.add(done);
  return answer;
};

const send = async (method, path, body) => {
  const headers = { Accept: "application/json" };
  if (method !== "GET") headers["X-CSRF-Token"] = token;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  let response;
  try {
    response = await fetch(path, { method, headers, body: body === undefined ? undefined : JSON.stringify(body), credentials: "same-origin" });
  } catch {
    throw new ApiError(0, "", "The gateway does not answer.");
  }
  const text = await response.text();
  let answer = null;
  try {
    answer = parse(text);
  } catch {
    throw new ApiError(response.status, "", "The gateway's answer could not be read.");
  }
  if (response.ok || answer?.decision) return answer;
  if (response.status === 401 && path !== "/session") window.dispatchEvent(new Event("qwed-signed-out"));
  throw new ApiError(response.status, answer?.error?.code ?? "", visible(answer?.error?.message ?? "The request failed."), answer?.error?.details);
};

export const get = (path, query = {}) => {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== null && value !== "");
  const text = new URLSearchParams(given).toString();
  return call("GET", text ? `${path}?${text}` : path);
};
export const post = (path, body) => call("POST", path, body);
export const put = (path, body) => call("PUT", path, body);
export const remove = (path) => call("DELETE", path);

const remember = (answer) => {
  for (const name of Object.keys(session)) delete session[name];
  Object.assign(session, answer);
  token = answer.csrf_token ?? "";
  return session;
};
export const whoAmI = async () => remember(await get("/session"));
export const signIn = async (apiKey) => remember(await post("/session", { api_key: apiKey }));
export const signOut = async () => {
  await Promise.race([Promise.all(underWay), new Promise((resolve) => { setTimeout(resolve, PATIENCE_MS); })]);
  return remember(await call("DELETE", "/session"));
};

/** A path segment made of anything. */
export const segment = (text) => encodeURIComponent(text);
