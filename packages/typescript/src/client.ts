/** The gateway's API over `fetch`. */
import { type Action, type Approval, type Decision, expectFields, parseAnswer, readDecision } from "./answers.js";
import { Conversation } from "./conversation.js";
import { AnswerMismatch, GatewayUnavailable, QWEDError } from "./errors.js";
import { BOUND, KEY, newKey, requireOwn } from "./questions.js";

export { newKey } from "./questions.js";

export interface ClientOptions {
  /** A key of the gateway, or an agent's token. */
  apiKey: string;
  baseUrl?: string;
  timeoutMs?: number;
  maxTries?: number;
  fetch?: typeof fetch;
}

interface Call {
  method: "GET" | "POST";
  path: string;
  body?: unknown;
  /** The question's name: the answer is taken only where it names it too. */
  key?: string;
  /** Sending it twice does no more than sending it once. */
  mayRepeat?: boolean;
  timeoutMs?: number;
}

const TRANSIENT = new Set([502, 503, 504]);
const LONGEST_POLL_SECONDS = 30;

export class QWEDClient {
  readonly #options: Required<Omit<ClientOptions, "fetch">>;
  readonly #fetch: typeof fetch;
  #tokens = new Map<string, string>();

  constructor(options: ClientOptions) {
    if (!options.apiKey) throw new QWEDError("apiKey is empty: give a key of the gateway or an agent's token");
    this.#options = {
      apiKey: options.apiKey,
      baseUrl: (options.baseUrl ?? "http://127.0.0.1:8000").replace(/\/+$/, ""),
      timeoutMs: options.timeoutMs ?? 10_000,
      maxTries: options.maxTries ?? 3,
    };
    this.#fetch = options.fetch ?? fetch;
  }

  /** This agent's own requests are signed with its token from now on. */
  useAgentToken(agentId: string, token: string): void {
    this.#tokens.set(agentId, token);
  }

  async registerAgent(registration: Record<string, unknown>): Promise<Record<string, unknown>> {
    const answer = await this.#ask({ method: "POST", path: "/agents/register", body: registration, mayRepeat: true });
    const agent = expectFields(answer.status, answer.body, "agent_id", "agent_token");
    this.useAgentToken(String(agent["agent_id"]), String(agent["agent_token"]));
    return agent;
  }

  /** Carries an idempotency key: a retry of a lost answer gets that answer. */
  async verifyAction(
    agentId: string,
    action: Action,
    context?: Record<string, unknown>,
    idempotencyKey: string = newKey(),
    options?: Record<string, unknown>,
  ): Promise<Decision> {
    const path = `/agents/${segment(agentId)}/verify`;
    const body = { action, ...(context === undefined ? {} : { context }), ...(options === undefined ? {} : { options }) };
    const answer = await this.#ask({ method: "POST", path, body, key: idempotencyKey, mayRepeat: true }, agentId);
    return readDecision(answer.status, answer.body, action.type);
  }

  async getApproval(approvalId: string, agentId?: string, waitSeconds = 0): Promise<Approval> {
    const query = waitSeconds > 0 ? `?wait=${Math.floor(waitSeconds)}` : "";
    const path = `/approvals/${segment(approvalId)}${query}`;
    const timeoutMs = waitSeconds * 1000 + 10_000;
    const answer = await this.#ask({ method: "GET", path, mayRepeat: true, timeoutMs }, agentId);
    return expectFields(answer.status, answer.body, "status") as unknown as Approval;
  }

  async approve(approvalId: string, answer: Record<string, unknown> = {}): Promise<Approval> {
    return this.#answer(approvalId, "approve", answer);
  }

  async deny(approvalId: string, answer: Record<string, unknown> = {}): Promise<Approval> {
    return this.#answer(approvalId, "deny", answer);
  }

  async #answer(approvalId: string, verb: string, body: Record<string, unknown>): Promise<Approval> {
    const answer = await this.#ask({ method: "POST", path: `/approvals/${segment(approvalId)}/${verb}`, body });
    return expectFields(answer.status, answer.body, "status") as unknown as Approval;
  }

  /** The approval once it is no longer open, or as it is when the time is over. */
  async waitForApproval(approvalId: string, seconds: number, agentId?: string): Promise<Approval> {
    const end = Date.now() + seconds * 1000;
    for (;;) {
      const left = Math.max(0, (end - Date.now()) / 1000);
      const approval = await this.getApproval(approvalId, agentId, Math.min(LONGEST_POLL_SECONDS, Math.floor(left)));
      if (approval.status !== "open" || Date.now() >= end) return approval;
      await pause(Math.min(100, Math.max(0, end - Date.now())));
    }
  }

  async redeem(approvalId: string, agentId: string, action: Action): Promise<Decision> {
    const path = `/approvals/${segment(approvalId)}/redeem`;
    // The gateway keeps the answer for its key: a grant is used once, however often its answer is lost.
    const answer = await this.#ask({ method: "POST", path, body: { action }, mayRepeat: true }, agentId);
    return readDecision(answer.status, answer.body, action.type);
  }

  async reportOutcome(agentId: string, activityId: string, outcome: Record<string, unknown>): Promise<void> {
    const path = `/agents/${segment(agentId)}/activity/${segment(activityId)}/outcome`;
    const answer = await this.#ask({ method: "POST", path, body: outcome, mayRepeat: true }, agentId);
    expectFields(answer.status, answer.body, "outcome");
  }

  /** `permits` asks for a permit with every action; where the gateway's policy does, it comes by itself. */
  conversation(agentId: string, conversationId?: string, permits = false): Conversation {
    return new Conversation(this, agentId, conversationId, permits);
  }

  async #ask(call: Call, agentId?: string): Promise<{ status: number; body: Record<string, unknown> }> {
    const key = call.key ?? newKey();
    for (let attempt = 1; ; attempt++) {
      const isLast = !call.mayRepeat || attempt >= this.#options.maxTries;
      let response: Response;
      let raw: Uint8Array;
      try {
        response = await this.#send(call, key, agentId);
        raw = new Uint8Array(await response.arrayBuffer());
      } catch (error) {
        if (isLast) throw new GatewayUnavailable(`the gateway does not answer: ${String(error)}`, { cause: error });
        await pause(backoff(attempt));
        continue;
      }
      if (TRANSIENT.has(response.status) && !isLast) {
        await pause(backoff(attempt));
        continue;
      }
      try {
        const body = parseAnswer(response.status, decoded(raw), response.headers.get("content-type"));
        await requireOwn(key, response.status, raw, response.headers.get(BOUND), body);
        return { status: response.status, body };
      } catch (error) {
        if (isLast || !(error instanceof AnswerMismatch)) throw error;
        await pause(backoff(attempt));
      }
    }
  }

  #send(call: Call, key: string, agentId?: string): Promise<Response> {
    const credential = (agentId === undefined ? undefined : this.#tokens.get(agentId)) ?? this.#options.apiKey;
    return this.#fetch(this.#options.baseUrl + call.path, {
      method: call.method,
      headers: {
        Accept: "application/json",
        Authorization: `Bearer ${credential}`,
        ...(call.body === undefined ? {} : { "Content-Type": "application/json" }),
        [KEY]: key,
      },
      redirect: "error",
      signal: AbortSignal.timeout(call.timeoutMs ?? this.#options.timeoutMs),
      ...(call.body === undefined ? {} : { body: JSON.stringify(call.body) }),
    });
  }
}

/** One path segment. A name that could change the path is no name of ours. */
export function segment(name: string): string {
  if (!/^[A-Za-z0-9._-]+$/.test(name) || name === "." || name === "..") {
    throw new TypeError(`'${name.slice(0, 80)}' is not an identifier`);
  }
  return name;
}

function decoded(raw: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(raw);
  } catch {
    throw new GatewayUnavailable("the gateway answered with something that is not UTF-8");
  }
}

export function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

function backoff(attempt: number): number {
  return 200 * 2 ** (attempt - 1) * (0.5 + Math.random());
}
