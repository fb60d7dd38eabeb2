import { notifyListener } from "@workspace-tasks/kernel/notify-listener.ts";
import { isReceiverError, type ReceiverErrorCode, type WebhookRejectedError } from "../errors.ts";
import type { ReceiverSettings } from "../receiver-options.ts";
import type { VerifiedWebhook } from "../signature/verifier.ts";
import type { RejectionCounts } from "../stats/receiver-stats.ts";

type Settings = Pick<ReceiverSettings, "logger" | "clock" | "onRejected">;

/**
 * Counts the requests without a 2xx response, and logs the first rejection per code as a warning: that is how a wrong secret
 * or clock shows. Later ones go to `onRejected` only, so that a stranger cannot flood the log. Secrets that are unavailable
 * are an outage of this receiver, which is logged every ten seconds that it lasts.
 */
export function createRejectionLog({ logger, clock, onRejected }: Settings) {
  const counts: RejectionCounts = {};
  const count = (code: ReceiverErrorCode) => {
    counts[code] = (counts[code] ?? 0) + 1;
    return counts[code];
  };
  let unavailableAtMs = Number.NEGATIVE_INFINITY;
  const log = ({ code, status, message, cause }: WebhookRejectedError) => {
    const isFirst = count(code) === 1;
    if (code === "SECRETS_UNAVAILABLE") {
      if (clock.monotonic() - unavailableAtMs < logEveryMs) return;
      unavailableAtMs = clock.monotonic();
      logger.error({ code, status, reason: reasonOf(cause) }, `no delivery can be verified: ${message}`);
    } else if (isFirst) {
      logger.warn(
        { code, status },
        `a request was rejected: ${message} (further ones with this code are not logged)`,
      );
    }
  };
  return {
    counts,
    onRejected(rejection: WebhookRejectedError) {
      log(rejection);
      notifyListener(onRejected, rejection);
    },
    onError(error: unknown, webhook: VerifiedWebhook | undefined) {
      if (isReceiverError(error)) count(error.code);
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
  return `${cause.name}: ${cause.message.slice(0, reasonMax).replace(secretLike, "…")}`;
}

const outages: ReadonlySet<string> = new Set(["INBOX_UNAVAILABLE", "BROKER_UNAVAILABLE", "BACKLOG_FULL"]);
const logEveryMs = 10_000;
const reasonMax = 500;
