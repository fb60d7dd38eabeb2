import type { IncomingMessage, ServerResponse } from "node:http";
import type { WebhookEvent } from "@workspace-tasks/events";
import type { Clock } from "@workspace-tasks/kernel/clock.ts";
import { notifyListener } from "@workspace-tasks/kernel/notify-listener.ts";
import { durationMs, functionOf, optional, withDefault } from "@workspace-tasks/kernel/schema.ts";
import { ReceiverError } from "../errors.ts";
import { type EventColumns, emptyColumns } from "../event/event-columns.ts";
import type { ParsedDelivery } from "../event/parse-delivery.ts";
import { acknowledged, responseFor } from "../http/responses.ts";
import { endFailed } from "../http/send-response.ts";
import { type Inbox, inboxOption } from "../inbox/inbox.ts";
import { defaults, sharedOptions } from "../options.ts";
import type { VerifiedWebhook } from "../signature/verifier.ts";

/** What `verifyWebhook` sets on the request for the handlers after it. */
export interface ReceivedWebhook extends VerifiedWebhook {
  /** The parsed body; `undefined` when it is not an event, though its signature is valid. */
  readonly event: WebhookEvent | undefined;
  /** Why there is no event; names what is wrong and never repeats the body. */
  readonly problem: string | undefined;
}

/** What the inbox records of a delivery. Not a part of the request, which is the application's. */
const columns = new WeakMap<ReceivedWebhook, EventColumns>();

export function setReceived(
  request: RequestWithWebhook,
  webhook: VerifiedWebhook,
  parsed: ParsedDelivery,
): void {
  const event = parsed.ok ? parsed.event : undefined;
  request.webhook = { ...webhook, event, problem: parsed.ok ? undefined : parsed.reason };
  columns.set(request.webhook, parsed.columns);
}

export const columnsOf = (webhook: ReceivedWebhook): EventColumns => columns.get(webhook) ?? emptyColumns;

declare global {
  namespace Express {
    interface Request {
      /** The verified delivery; set by `verifyWebhook`. */
      webhook?: ReceivedWebhook;
    }
  }
}

export type RequestWithWebhook = IncomingMessage & { webhook?: ReceivedWebhook };
export type NextFunction = (error?: unknown) => void;

/** A middleware that either sends a response or passes the request on. Fits Express 4 and 5, and Connect. */
export type WebhookMiddleware = (
  request: RequestWithWebhook,
  response: ServerResponse,
  next: NextFunction,
) => void;

export type MiddlewareErrorListener = (error: unknown, webhook: VerifiedWebhook) => void;

/** What `dedupeWebhook` and `orderWebhook` have in common. */
export interface InboxMiddlewareOptions {
  readonly inbox: Inbox;
  /** Which endpoint the deliveries come from: ids and order are kept per source. Default `default`. */
  readonly source?: string | undefined;
  /** How long the inbox may take before the response is 503. Default 10,000. */
  readonly acceptTimeoutMs?: number | undefined;
  readonly clock?: Clock | undefined;
  /** Called with what the inbox threw. What it throws is ignored. */
  readonly onError?: MiddlewareErrorListener | undefined;
}

/** The schemas of `InboxMiddlewareOptions`. */
export const inboxMiddlewareOptions = {
  inbox: inboxOption,
  source: sharedOptions.source,
  acceptTimeoutMs: withDefault(durationMs, defaults.ingest.acceptTimeoutMs),
  clock: sharedOptions.clock,
  onError: optional(functionOf<MiddlewareErrorListener>()),
};

/**
 * A middleware for requests that `verifyWebhook` has verified. A rejection of `handle` is reported to `onError`, and
 * its response sent.
 */
export function afterVerify(
  name: string,
  onError: MiddlewareErrorListener | undefined,
  handle: (webhook: ReceivedWebhook, response: ServerResponse, next: NextFunction) => Promise<void>,
): WebhookMiddleware {
  return (request, response, next) => {
    const { webhook } = request;
    if (!webhook) {
      const message = `${name}: no verified webhook on the request; mount verifyWebhook({ secrets }) before it`;
      return next(new ReceiverError("MIDDLEWARE_MISSING", message));
    }
    handle(webhook, response, next)
      .catch((error: unknown) => {
        notifyListener(onError, error, webhook);
        endResponse(response, responseFor(error));
      })
      .catch((error: unknown) => endFailed(error, response, next));
  };
}

/** Responds to a request whose body was read. */
export function endResponse(response: ServerResponse, { status, headers, body } = acknowledged): void {
  if (response.headersSent || response.destroyed) return;
  response.statusCode = status;
  response.writeHead(status, headers);
  response.end(body);
}

/**
 * Runs `settle` when the handler ends its response, before the end is sent: the outcome that the sender receives is then already
 * recorded, also when the sender has disconnected.
 */
export function interceptEnd(response: ServerResponse, settle: () => Promise<void>): void {
  const end = response.end;
  const intercepted = (...args: unknown[]): ServerResponse => {
    response.end = end;
    settle()
      .then(() => Reflect.apply(end, response, args))
      // The handler has passed the request on, so nothing can take the error but the connection.
      .catch(() => response.destroy());
    return response;
  };
  response.end = intercepted as ServerResponse["end"];
}
