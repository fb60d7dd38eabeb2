import type { Clock } from "@workspace-tasks/kernel/clock.ts";
import { durationMs, strictOptions, withDefault } from "@workspace-tasks/kernel/schema.ts";
import { withTimeout } from "@workspace-tasks/kernel/with-timeout.ts";
import { ReceiverError } from "../errors.ts";
import { eventOrder } from "../event/event-order.ts";
import { openOnce } from "../inbox/inbox.ts";
import { defaults, parseOptions } from "../options.ts";
import { tenantSource } from "../signature/tenant.ts";
import { orUnavailable } from "../worker/acceptor.ts";
import { KeyQueue } from "./key-queue.ts";
import * as received from "./received-webhook.ts";

export interface OrderWebhookOptions extends received.InboxMiddlewareOptions {
  /** How long a delivery waits for another of the same task or stage that is being handled. Default 10,000. */
  readonly waitMs?: number | undefined;
}

const orderOptions = strictOptions<OrderWebhookOptions>()({
  ...received.inboxMiddlewareOptions,
  waitMs: withDefault(durationMs, defaults.orderWaitMs),
});

/**
 * The third of three composable middlewares: passes an event on only if nothing newer of its task or stage was passed on
 * before, and acknowledges the others. Events without an order, such as `documents.synced`, always pass.
 *
 * Within this process, handlers of one task or stage run one after the other. Several processes on one inbox still
 * never start an older event after a newer one, but two handlers of one task may then overlap; `createReceiver` with a
 * SQL inbox prevents that too.
 *
 * @throws {ReceiverError} `CONFIGURATION_INVALID`
 * @see interface §6, "Events may be delayed or out of order"
 */
export function orderWebhook(options: OrderWebhookOptions): received.WebhookMiddleware {
  const settings = parseOptions("orderWebhook", orderOptions, options);
  const { inbox, waitMs, clock, onError } = settings;
  const open = openOnce(inbox);
  const queue = new KeyQueue();
  return received.afterVerify("orderWebhook", onError, async (webhook, response, next) => {
    const order = webhook.event && eventOrder(webhook.event);
    if (!order) return next();
    const { key, position } = order;
    const source = tenantSource(settings.source, webhook.tenant?.id);
    await orUnavailable(settings, "open", open());
    const leave = await enterWithin(queue.enter(JSON.stringify([source, key])), waitMs, clock);
    const advanced = inbox.advanceHead({ source, key, position });
    const verdict = await orUnavailable(settings, "advanceHead", advanced).catch((error: unknown) => {
      leave();
      throw error;
    });
    // A handler that never responds must not block its task.
    const cancelTimeout = clock.schedule(waitMs, leave);
    received.interceptEnd(response, async () => {
      cancelTimeout();
      leave();
    });
    if (verdict === "stale") received.endResponse(response);
    else next();
  });
}

function enterWithin(entered: Promise<() => void>, waitMs: number, clock: Clock): Promise<() => void> {
  return withTimeout(entered, waitMs, clock, () => {
    // The place in the queue is given up as soon as it is reached.
    void entered.then((leave) => leave());
    return new ReceiverError(
      "INBOX_UNAVAILABLE",
      `another delivery of the same task or stage was still being handled after waitMs (${waitMs})`,
    );
  });
}
