import { notifyListener } from "@workspace-tasks/kernel/notify-listener.ts";
import { isError } from "@workspace-tasks/kernel/realm.ts";
import { isReceiverError, type ReceiverErrorCode, type WebhookRejectedError } from "../errors.ts";
import type { ReceiverSettings } from "../receiver-options.ts";
import type { VerifiedWebhook } from "../signature/verifier.ts";
import type { RejectionCounts } from "../stats/receiver-stats.ts";

type Settings = Pick<ReceiverSettings, "logger" | "clock" | "onRejected">;

/**
 * Counts the requests without a 2xx response, and logs of each code the first at once, then a line per ten minutes with the
 * count since: a wrong secret or clock shows whenever it begins, and a stranger cannot flood the log. `onRejected` receives all.
 */
export function createRejectionLog({ logger, clock, onRejected }: Settings) {
  const counts: RejectionCounts = {};
  const lines = new Map<string, { loggedAtMs: number; unlogged: number }>();

  /** How many there were since the last line; `undefined` while there is no line due. */
  const countForLine = (code: string): number | undefined => {
    const nowMs = clock.monotonic();
    const line = lines.get(code) ?? { loggedAtMs: Number.NEGATIVE_INFINITY, unlogged: 0 };
    lines.set(code, line);
    line.unlogged += 1;
    if (nowMs - line.loggedAtMs < logEveryMs) return undefined;
    const requests = line.unlogged;
    lines.set(code, { loggedAtMs: nowMs, unlogged: 0 });
    return requests;
  };
  const count = (code: ReceiverErrorCode) => {
    counts[code] = (counts[code] ?? 0) + 1;
  };

  return {
    counts,
    onRejected(rejection: WebhookRejectedError) {
      const { code, status, message, cause } = rejection;
      count(code);
      notifyListener(onRejected, rejection);
      const requests = countForLine(code);
      if (requests === undefined) return;
      const fields = { code, status, requests };
      if (code === "SECRETS_UNAVAILABLE")
        logger.error({ ...fields, reason: reasonOf(cause) }, `no delivery can be verified: ${message}`);
      else if (code === "RESPONSE_FAILED") logger.error(fields, message);
      else logger.warn(fields, `a request was rejected: ${message}`);
    },
    onError(error: unknown, webhook: VerifiedWebhook | undefined) {
      const code = isReceiverError(error) ? error.code : undefined;
      if (code) count(code);
      // Logged with what stores deliveries.
      if (code !== undefined && outages.has(code)) return;
      const requests = countForLine(code ?? "UNEXPECTED");
      if (requests === undefined) return;
      if (code === "BACKLOG_FULL") {
        logger.error(
          { code, status: 429, requests },
          `a delivery was not accepted: ${(error as Error).message}`,
        );
        return;
      }
      const fields = { err: error, id: webhook?.id, requests };
      logger.error(fields, "a delivery could not be accepted, the response was 500");
    },
  };
}

/** An error of the application may quote the secret that it could not read, in its message or in a field. */
function reasonOf(cause: unknown): string {
  if (!isError(cause)) return typeof cause;
  const secretLike = /(["'`]).*?\1|whsec_\S*|[A-Za-z0-9+/_=-]{16,}/gs;
  return `${cause.name}: ${cause.message.slice(0, reasonMax).replace(secretLike, "…")}`;
}

const outages: ReadonlySet<string> = new Set(["INBOX_UNAVAILABLE", "BROKER_UNAVAILABLE"]);
const logEveryMs = 600_000;
const reasonMax = 500;
