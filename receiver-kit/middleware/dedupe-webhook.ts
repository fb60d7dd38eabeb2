import type { ServerResponse } from "node:http";
import { InboxUnavailableError } from "../errors.ts";
import { parseDelivery } from "../event/parse-delivery.ts";
import { notifyListener } from "../http/webhook-handler.ts";
import type { Inbox } from "../inbox/inbox.ts";
import { openOnce } from "../inbox/open-once.ts";
import {
  endResponse,
  type FailureListener,
  interceptEnd,
  missingWebhook,
  type NextFunction,
  type ReceivedWebhook,
  type WebhookMiddleware,
} from "./received-webhook.ts";

export type DedupeWebhookOptions = {
  readonly inbox: Inbox;
  /** Which endpoint the deliveries come from: ids are unique per source. Default `default`. */
  readonly source?: string;
  /** How long a handler may take before the next attempt of the sender may start it anew. Default 30,000. */
  readonly leaseMs?: number;
  /** Told of what the inbox threw. What it throws is ignored. */
  readonly onFailed?: FailureListener;
};

/**
 * The second of three composable steps: passes each `webhook-id` on once, and acknowledges repetitions.
 *
 * The delivery is stored before the handler runs. Once the handler has answered 2xx, that is recorded, and only
 * then the answer goes out. Any other answer, or none within `leaseMs`, leaves the id open: the sender's next
 * attempt runs the handler again. An attempt that meets a running one is answered 503 with `Retry-After`. A
 * delivery that cannot be read as an event is kept in quarantine and acknowledged, and the handler not run.
 *
 * Rows stay until `inbox.purge` removes them; keep ids for at least 14 days.
 *
 * @see interface §6, "Delivery is at least once"
 */
export function dedupeWebhook(options: DedupeWebhookOptions): WebhookMiddleware {
  const open = openOnce(options.inbox);
  return (request, response, next) => {
    const { webhook } = request;
    if (!webhook) return next(missingWebhook("dedupeWebhook"));
    open()
      .then(() => pass(options, webhook, response, next))
      .catch((cause: unknown) => endResponse(response, { cause, webhook, onFailed: options.onFailed }));
  };
}

async function pass(
  { inbox, source = "default", leaseMs = 30_000, onFailed }: DedupeWebhookOptions,
  webhook: ReceivedWebhook,
  response: ServerResponse,
  next: NextFunction,
): Promise<void> {
  if (webhook.problem !== undefined) {
    const { id, timestamp, body, problem: quarantine } = webhook;
    const { columns } = parseDelivery(body, timestamp * 1000);
    await inbox.insert({ ...columns, source, id, timestamp, body, channel: "webhook", quarantine });
    return endResponse(response);
  }
  const begin = await inbox.beginInline(webhook, { source, leaseMs });
  if (begin.state === "done") return endResponse(response);
  if (begin.state === "busy") {
    const retryAfterSeconds = Math.ceil(begin.retryAfterMs / 1000);
    throw new InboxUnavailableError("an earlier attempt is being handled right now", { retryAfterSeconds });
  }
  const { generation } = begin;
  interceptEnd(response, async () => {
    const outcome = response.statusCode >= 200 && response.statusCode < 300 ? "done" : "failed";
    try {
      await inbox.finishInline(webhook.id, { source, generation, outcome });
    } catch (error) {
      // The handler has done its work, so its own answer stands; the lease runs out by itself.
      notifyListener(onFailed, error, webhook);
    }
  });
  next();
}
