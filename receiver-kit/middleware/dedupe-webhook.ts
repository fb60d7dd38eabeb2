import { notifyListener } from "@workspace-tasks/kernel/notify-listener.ts";
import { durationMs, positiveInteger, strictOptions, withDefault } from "@workspace-tasks/kernel/schema.ts";
import { ReceiverError } from "../errors.ts";
import { openOnce } from "../inbox/inbox.ts";
import { consoleLogger, guardLogger } from "../logger.ts";
import { Maintenance, openWithRetentionTime } from "../maintenance/maintenance.ts";
import { defaults, parseOptions } from "../options.ts";
import { type RetentionOptions, retentionOption } from "../receiver-options.ts";
import { tenantSource } from "../signature/tenant.ts";
import { createAcceptor, orUnavailable } from "../worker/acceptor.ts";
import * as received from "./received-webhook.ts";

export interface DedupeWebhookOptions extends received.InboxMiddlewareOptions {
  /** How long a handler may take before the next attempt of the sender starts it again. Default 30,000. */
  readonly leaseMs?: number | undefined;
  /** Bytes of deliveries that wait for the inbox to store them, beyond which the response is 503. Default 67,108,864. */
  readonly storingBytesMax?: number | undefined;
  /** How long deliveries are kept; a minimum of 14 days for ids. */
  readonly retention?: RetentionOptions | undefined;
}

const dedupeOptions = strictOptions<DedupeWebhookOptions>()({
  ...received.inboxMiddlewareOptions,
  leaseMs: withDefault(durationMs, defaults.worker.leaseMs),
  storingBytesMax: withDefault(positiveInteger, defaults.ingest.storingBytesMax),
  retention: retentionOption,
});

/**
 * The second of three composable middlewares: passes each `webhook-id` on once, and acknowledges duplicates.
 *
 * The delivery is stored before the handler runs. Once the handler has responded 2xx, that is recorded, and only then
 * the response is sent. Any other response, or none within `leaseMs`, leaves the id open: the sender's next attempt runs
 * the handler again. The response to an attempt during another one is 503 with `Retry-After`. A delivery that cannot
 * be parsed as an event is quarantined and acknowledged, and the handler does not run.
 *
 * While the inbox is open, expired rows are removed every hour, and those of `orderWebhook` with them.
 *
 * @throws {ReceiverError} `CONFIGURATION_INVALID`
 * @see interface §6, "Delivery is at least once"
 */
export function dedupeWebhook(options: DedupeWebhookOptions): received.WebhookMiddleware {
  const settings = parseOptions("dedupeWebhook", dedupeOptions, options);
  const { inbox, leaseMs, onError } = settings;
  const maintenance = new Maintenance({
    ...settings,
    ...{ logger: guardLogger(consoleLogger), received: () => 0 },
  });
  const open = openWithRetentionTime(inbox, openOnce(inbox));
  const store = createAcceptor({ ...settings, open });
  return received.afterVerify("dedupeWebhook", onError, async (webhook, response, next) => {
    const { id, timestamp, body, problem: quarantine, secretIndex } = webhook;
    const source = tenantSource(settings.source, webhook.tenant?.id);
    // It ends when the inbox is closed, which may be opened again.
    maintenance.begin();
    if (quarantine !== undefined) {
      const row = {
        ...{ ...received.columnsOf(webhook), source, id, timestamp, body },
        ...({ channel: "webhook", quarantine, secretIndex, traceparent: null } as const),
      };
      await store("insert", body.byteLength, () => inbox.insert(row));
      return received.endResponse(response);
    }
    const begin = await store("beginInline", body.byteLength, () =>
      inbox.beginInline(webhook, { source, leaseMs }),
    );
    if (begin.state === "done") return received.endResponse(response);
    if (begin.state === "busy") {
      const retryAfterSeconds = Math.ceil(begin.retryAfterMs / 1_000);
      throw new ReceiverError("INBOX_UNAVAILABLE", "an earlier attempt is in progress", {
        retryAfterSeconds,
      });
    }
    const { generation } = begin;
    received.interceptEnd(response, async () => {
      const outcome = response.statusCode >= 200 && response.statusCode < 300 ? "done" : "failed";
      try {
        const finished = inbox.finishInline(id, { source, generation, outcome });
        await orUnavailable(settings, "finishInline", finished);
      } catch (error) {
        // The handler has done its work, so its own response is sent; the lease ends by itself.
        notifyListener(onError, error, webhook);
      }
    });
    next();
  });
}
