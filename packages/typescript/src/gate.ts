/** One gate for the tools of every framework: verify, wait for a person, run, report. */
import type { QWEDClient } from "./client.js";
import { ActionDenied, type Conversation, type Grant } from "./conversation.js";
import { GatewayUnavailable, QWEDError, ToolRefused } from "./errors.js";
import { argumentsFor, type ToolMap, toolCall } from "./tools.js";

export interface GateOptions {
  client: QWEDClient;
  agentId: string;
  conversationId?: string;
  /** A tool's action type, where it is not its own name. */
  toolMap?: ToolMap;
  /** How long a call waits for a person's approval. */
  waitSeconds?: number;
  /** Ask for a permit with every call; the tool gets it as its second argument. */
  permits?: boolean;
}

export class ToolGate {
  readonly #conversation: Conversation;
  readonly #map: ToolMap;
  readonly #waitSeconds: number;

  constructor(options: GateOptions) {
    this.#conversation = options.client.conversation(options.agentId, options.conversationId, options.permits);
    this.#map = options.toolMap ?? {};
    this.#waitSeconds = options.waitSeconds ?? 300;
  }

  /** Run the tool with what was granted. Whatever goes wrong before it runs is `ToolRefused`. */
  async run<R>(
    toolName: string,
    given: Record<string, unknown>,
    run: (granted: Record<string, unknown>, permit?: string) => Promise<R> | R,
  ): Promise<R> {
    const [grant, granted] = await this.#permit(toolName, given);
    let result: R;
    try {
      result = await run(granted, grant.permit);
    } catch (error) {
      await this.#conversation.report(grant, "failure", String(error));
      throw error;
    }
    await this.#conversation.report(grant, "success");
    return result;
  }

  async #permit(toolName: string, given: Record<string, unknown>): Promise<[Grant, Record<string, unknown>]> {
    try {
      const call = toolCall(toolName, given, this.#map);
      const grant = await this.#conversation.permit(call.action, this.#waitSeconds);
      try {
        return [grant, argumentsFor(call, grant.action)];
      } catch (error) {
        await this.#conversation.report(grant, "failure", "not run: what was granted cannot be carried out");
        throw error;
      }
    } catch (error) {
      throw refused(toolName, error);
    }
  }
}

function refused(toolName: string, error: unknown): Error {
  if (error instanceof ActionDenied) return new ToolRefused(toolName, error.message, error.decision);
  if (error instanceof GatewayUnavailable) {
    return new ToolRefused(toolName, "the gateway could not be asked; nothing runs until it answers again");
  }
  return error instanceof QWEDError ? new ToolRefused(toolName, error.message) : (error as Error);
}
