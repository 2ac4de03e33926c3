/** What goes wrong between a client and its gateway. Whatever it is, nothing was approved. */
export class QWEDError extends Error {
  override name = "QWEDError";
}

/** Down, slow, or answering nonsense. */
export class GatewayUnavailable extends QWEDError {
  override name = "GatewayUnavailable";
}

/** An answer that is not to this question. Asked again, the right one may come. */
export class AnswerMismatch extends GatewayUnavailable {
  override name = "AnswerMismatch";
}

/** The gateway answered, with an error instead of a decision. */
export class RequestRefused extends QWEDError {
  override name = "RequestRefused";
  readonly code: string;

  constructor(readonly status: number, error: Record<string, unknown>, readonly retryAfter?: number) {
    const code = String(error["code"] ?? "");
    super(`${String(error["message"] ?? "refused")} (${code || status})`);
    this.code = code;
  }
}

/** A tool did not run. The message is fit to be shown to a model. */
export class ToolRefused extends QWEDError {
  override name = "ToolRefused";

  constructor(readonly toolName: string, reason: string, readonly decision?: Record<string, unknown>) {
    super(`QWED did not let ${toolName.slice(0, 100)} run: ${reason}`);
  }
}

/** Arguments that have no JSON form, so that nobody could judge them. */
export class NotShowable extends QWEDError {
  override name = "NotShowable";
}

/** What was granted cannot be carried out with this tool's arguments. */
export class NotApplicable extends QWEDError {
  override name = "NotApplicable";
}
