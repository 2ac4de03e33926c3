/** A conversation that counts its own steps, waits for people, and says what became of its actions. */
import { type Action, type Approval, type Decision, mayAct } from "./answers.js";
import type { QWEDClient } from "./client.js";
import { GatewayUnavailable, QWEDError, RequestRefused } from "./errors.js";
import { newKey } from "./questions.js";
import { actionHash } from "./tools.js";

const REPORTED_ALREADY = "QWED-OUTCOME-001";

/** The gateway did not let the action run now; `approval` is what a person said. */
export class ActionDenied extends QWEDError {
  override name = "ActionDenied";

  constructor(readonly decision: Decision, readonly approval?: Approval) {
    super(reason(decision, approval));
  }
}

function reason(decision: Decision, approval?: Approval): string {
  if (approval === undefined) {
    return `${decision.decision}: ${decision.error?.message ?? ""} (${decision.error?.code ?? "no code"})`;
  }
  const id = decision.approval?.id ?? "?";
  if (approval.status === "open") return `PENDING: nobody has answered the approval ${id} yet`;
  const notes = (approval.votes ?? []).flatMap((vote) => (vote.note ? [vote.note] : []));
  const said = notes.length ? `: ${notes[notes.length - 1]}` : "";
  return `DENIED: the approval ${id} is ${approval.status}${said}`;
}

/** Leave to run one action: the corrected one, or the one a person approved, where there is one. */
export interface Grant {
  decision: Decision;
  action: Action;
  /** What a tool that verifies permits asks for, where the gateway issued one. */
  permit?: string;
}

export class Conversation {
  readonly id: string;
  #next = 1;
  #queue: Promise<unknown> = Promise.resolve();
  /** Action → the approval that it waits for: the same action again finds its answer. */
  #pending = new Map<string, Decision>();

  constructor(readonly client: QWEDClient, readonly agentId: string, id?: string, readonly permits = false) {
    this.id = id ?? crypto.randomUUID();
  }

  /** One step at a time: the gateway refuses two of one conversation at once. */
  verify(action: Action): Promise<Decision> {
    const step = this.#queue.then(() => this.#verify(action));
    this.#queue = step.catch(() => undefined);
    return step;
  }

  async #verify(action: Action): Promise<Decision> {
    const context = { conversation_id: this.id, step_number: this.#next };
    const decision = await this.client.verifyAction(this.agentId, action, context, newKey(), this.permits ? { permit: true } : undefined);
    if (mayAct(decision) || decision.decision === "PENDING") this.#next += 1;
    return decision;
  }

  /** From an action to leave to run it. Waits for a person where the decision does. Throws `ActionDenied`. */
  async permit(action: Action, waitSeconds = 300): Promise<Grant> {
    const key = JSON.stringify(action);
    const decision = this.#pending.get(key) ?? (await this.verify(action));
    if (mayAct(decision)) return recorded({ decision, action: decision.corrected_action ?? action });
    const approvalId = decision.approval?.id;
    if (decision.decision !== "PENDING" || approvalId === undefined) throw new ActionDenied(decision);
    this.#pending.set(key, decision);
    const approval = await this.client.waitForApproval(approvalId, waitSeconds, this.agentId);
    if (approval.status !== "open") this.#pending.delete(key);
    if (approval.status !== "approved") throw new ActionDenied(decision, approval);
    const granted = await grantedAction(action, approval, decision.corrected_action ?? undefined);
    const redeemed = await this.client.redeem(approvalId, this.agentId, granted);
    if (!mayAct(redeemed)) throw new ActionDenied(redeemed);
    return recorded({ decision: redeemed, action: redeemed.corrected_action ?? granted });
  }

  /** What became of it. The action ran already, so a report that fails must not look like its failure. */
  async report(grant: Grant, outcome: "success" | "failure" | "unknown", error?: string): Promise<void> {
    const activityId = grant.decision.activity_id;
    if (!activityId) return;
    const told = error === undefined ? { outcome } : { outcome, error: error.slice(0, 2000) };
    try {
      await this.client.reportOutcome(this.agentId, activityId, told);
    } catch (problem) {
      if (!(problem instanceof QWEDError)) throw problem;
      if (!(problem instanceof RequestRefused && problem.code === REPORTED_ALREADY)) {
        console.warn(`qwed: the outcome of ${activityId} was not taken: ${problem.message}`);
      }
    }
  }
}

/** Nothing is approved that was not written down first. */
function recorded(grant: Grant): Grant {
  if (!grant.decision.activity_id) throw new GatewayUnavailable("the gateway allowed an action without recording it");
  const permit = grant.decision["permit"];
  return typeof permit === "string" ? { ...grant, permit } : grant;
}

/** What the grant is for: the proposed action, unless an engine corrected it or a person edited it.
 *
 * The approval masks secrets: what was proposed or corrected is used where its hash is the granted one. */
export async function grantedAction(action: Action, approval: Approval, corrected?: Action): Promise<Action> {
  if (approval.action_hash === undefined || approval.action_hash === null) return corrected ?? action;
  for (const known of [action, corrected]) {
    if (known !== undefined && (await actionHash(known)) === approval.action_hash) return known;
  }
  return approval.action ?? action;
}
