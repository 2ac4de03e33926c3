export type { Action, Approval, Decision, DecisionName, Json, JsonObject } from "./answers.js";
export { mayAct } from "./answers.js";
export { type ClientOptions, QWEDClient } from "./client.js";
export { ActionDenied, Conversation, type Grant } from "./conversation.js";
export { AnswerMismatch, GatewayUnavailable, NotApplicable, NotShowable, QWEDError, RequestRefused, ToolRefused } from "./errors.js";
export { type GateOptions, ToolGate } from "./gate.js";
export { type ToolAs, type ToolMap } from "./tools.js";
