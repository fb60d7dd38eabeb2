import { BacklogFullError, InboxUnavailableError, type WebhookRejectedError } from "../errors.ts";
import type { ReceiverLogger } from "../logger.ts";
import type { VerifiedWebhook } from "../signature/verifier.ts";

/**
 * Tells of requests that were refused: the first of each code as a warning, for that is how a wrong secret or
 * a wrong clock shows; later ones are left to `onRejected`, or a stranger could fill the log.
 */
export class RejectionLog {
  readonly #logger: ReceiverLogger;
  readonly #told = new Set<string>();

  constructor(logger: ReceiverLogger) {
    this.#logger = logger;
  }

  rejected({ code, status, message }: WebhookRejectedError): void {
    if (this.#told.has(code)) return;
    this.#told.add(code);
    this.#logger.warn(
      { code, status },
      `a request was refused: ${message} (later ones with this code are not told)`,
    );
  }

  /** What storing refused by plan has been told where it was found out; everything else is a fault. */
  failed(error: unknown, webhook: VerifiedWebhook | undefined): void {
    if (error instanceof InboxUnavailableError || error instanceof BacklogFullError) return;
    this.#logger.error(
      { err: error, id: webhook?.id },
      "a delivery could not be accepted and was answered 500",
    );
  }
}
