import { isReceiverError, type WebhookRejectedError } from "../errors.ts";
import type { ReceiverLogger } from "../logger.ts";
import type { VerifiedWebhook } from "../signature/verifier.ts";
import type { Clock } from "../time/clock.ts";

/**
 * Logs the first rejection per code as a warning: that is how a wrong secret or clock shows. Later ones go to
 * `onRejected` only, so that a stranger cannot flood the log. Secrets that are unavailable are an outage of this
 * receiver, which is logged every ten seconds that it lasts.
 */
export function createRejectionLog(logger: ReceiverLogger, clock: Clock) {
  const logged = new Set<string>();
  let unavailableAtMs = Number.NEGATIVE_INFINITY;
  return {
    onRejected({ code, status, message, cause }: WebhookRejectedError) {
      if (code === "SECRETS_UNAVAILABLE") {
        if (clock.monotonic() - unavailableAtMs < logEveryMs) return;
        unavailableAtMs = clock.monotonic();
        logger.error({ code, status, reason: reasonOf(cause) }, `no delivery can be verified: ${message}`);
        return;
      }
      if (logged.has(code)) return;
      logged.add(code);
      logger.warn(
        { code, status },
        `a request was rejected: ${message} (further ones with this code are not logged)`,
      );
    },
    onError(error: unknown, webhook: VerifiedWebhook | undefined) {
      // Expected, and logged where they are noticed.
      if (isReceiverError(error) && outages.has(error.code)) return;
      logger.error({ err: error, id: webhook?.id }, "a delivery could not be accepted, the response was 500");
    },
  };
}

/** An error of the application may quote the secret that it could not read, in its message or in a field. */
function reasonOf(cause: unknown): string {
  if (!(cause instanceof Error)) return typeof cause;
  const secretLike = /(["'`]).*?\1|whsec_\S*|[A-Za-z0-9+/_=-]{16,}/gs;
  return `${cause.name}: ${cause.message.replace(secretLike, "…")}`;
}

const outages: ReadonlySet<string> = new Set(["INBOX_UNAVAILABLE", "BROKER_UNAVAILABLE", "BACKLOG_FULL"]);
const logEveryMs = 10_000;
