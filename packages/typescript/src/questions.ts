/** Which question an answer is for.
 *
 * Every request carries a key of its own, and the gateway's answer a hash over that key, its status and its body.
 * An answer that something on the way gave to the wrong asker, or put together from two, does not fit. */
import { AnswerMismatch } from "./errors.js";

export const KEY = "Idempotency-Key";
export const BOUND = "QWED-Answer";

export function newKey(): string {
  return hex(crypto.getRandomValues(new Uint8Array(16)));
}

/** What the gateway writes into `QWED-Answer`. */
export async function answerName(key: string, status: number, body: Uint8Array): Promise<string> {
  const head = new TextEncoder().encode(`${key}\n${status}\n`);
  const named = new Uint8Array(head.length + body.length);
  named.set(head);
  named.set(body, head.length);
  return hex(new Uint8Array(await crypto.subtle.digest("SHA-256", named)));
}

/** A refusal may come from something in between, which can't name the question; it approves nothing. */
export async function requireOwn(
  key: string,
  status: number,
  raw: Uint8Array,
  bound: string | null,
  body: Record<string, unknown>,
): Promise<void> {
  if (bound !== null) {
    if (bound === (await answerName(key, status, raw))) return;
    throw new AnswerMismatch("the answer belongs to another question, or was changed on its way");
  }
  if (status < 400 || "decision" in body) throw new AnswerMismatch("the answer does not say which question it is for");
}

function hex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
