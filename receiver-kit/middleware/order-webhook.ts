import type { ServerResponse } from "node:http";
import { type Clock, systemClock } from "../clock.ts";
import { InboxUnavailableError } from "../errors.ts";
import { type EventOrder, encodePosition, eventOrder } from "../event/event-order.ts";
import type { Inbox } from "../inbox/inbox.ts";
import { openOnce } from "../inbox/open-once.ts";
import { KeyQueue } from "./key-queue.ts";
import {
  endResponse,
  type FailureListener,
  interceptEnd,
  missingWebhook,
  type NextFunction,
  type WebhookMiddleware,
} from "./received-webhook.ts";

export type OrderWebhookOptions = {
  readonly inbox: Inbox;
  /** Which endpoint the deliveries come from: heads are kept per source. Default `default`. */
  readonly source?: string;
  /** How long a delivery waits for another of the same task or stage that is being handled. Default 10,000. */
  readonly waitMs?: number;
  readonly clock?: Clock;
  /** Told of what the inbox threw. What it throws is ignored. */
  readonly onFailed?: FailureListener;
};

/**
 * The third of three composable steps: passes an event on only if none newer of its task or stage was passed on
 * before, and acknowledges the others. Events without an order, such as `documents.synced`, always pass.
 *
 * Within this process, handlers of one task or stage run one after the other. Several processes on one inbox still
 * never let an older event start after a newer one, but two handlers of one task may then overlap; `createReceiver`
 * with a SQL inbox closes that gap too.
 *
 * @see interface §6, "Events may be delayed or out of order"
 */
export function orderWebhook(options: OrderWebhookOptions): WebhookMiddleware {
  const open = openOnce(options.inbox);
  const queue = new KeyQueue();
  return (request, response, next) => {
    const { webhook } = request;
    if (!webhook) return next(missingWebhook("orderWebhook"));
    const order = webhook.event && eventOrder(webhook.event);
    if (!order) return next();
    open()
      .then(() => pass(options, queue, order, response, next))
      .catch((cause: unknown) => endResponse(response, { cause, webhook, onFailed: options.onFailed }));
  };
}

async function pass(
  { inbox, source = "default", waitMs = 10_000, clock = systemClock }: OrderWebhookOptions,
  queue: KeyQueue,
  { key, position }: EventOrder,
  response: ServerResponse,
  next: NextFunction,
): Promise<void> {
  const leave = await takeTurn(queue.enter(key), waitMs, clock);
  let verdict: Awaited<ReturnType<Inbox["advanceHead"]>>;
  try {
    verdict = await inbox.advanceHead({ source, key, position: encodePosition(position) });
  } catch (error) {
    leave();
    throw error;
  }
  // A handler that never answers must not hold its task up for ever.
  const cancelTimeout = clock.schedule(waitMs, leave);
  interceptEnd(response, async () => {
    cancelTimeout();
    leave();
  });
  if (verdict === "stale") endResponse(response);
  else next();
}

async function takeTurn(turn: Promise<() => void>, waitMs: number, clock: Clock): Promise<() => void> {
  let cancelTimeout = () => {};
  const timeout = new Promise<never>((_, reject) => {
    cancelTimeout = clock.schedule(waitMs, () => {
      // The place in the queue is given up as soon as it is reached.
      void turn.then((leave) => leave());
      reject(new InboxUnavailableError("another delivery of the same task or stage is being handled"));
    });
  });
  return Promise.race([turn, timeout]).finally(cancelTimeout);
}
