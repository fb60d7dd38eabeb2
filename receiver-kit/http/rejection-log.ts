import { isReceiverError, type WebhookRejectedError } from "../errors.ts";
import type { ReceiverLogger } from "../logger.ts";
import type { VerifiedWebhook } from "../signature/verifier.ts";

/**
 * Logs the first rejection per code as a warning: that is how a wrong secret or clock shows. Later ones go to
 * `onRejected` only, so that a stranger cannot flood the log.
 */
export function createRejectionLog(logger: ReceiverLogger) {
  const logged = new Set<string>();
  return {
    onRejected({ code, status, message }: WebhookRejectedError) {
      if (logged.has(code)) return;
      logged.add(code);
      logger.warn(
        { code, status },
        `a request was rejected: ${message} (further ones with this code are not logged)`,
      );
    },
    onError(error: unknown, webhook: VerifiedWebhook | undefined) {
      // Expected, and logged by the ingest.
      if (isReceiverError(error, "INBOX_UNAVAILABLE") || isReceiverError(error, "BACKLOG_FULL")) return;
      logger.error({ err: error, id: webhook?.id }, "a delivery could not be accepted, the response was 500");
    },
  };
}
