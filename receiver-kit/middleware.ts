import type { IncomingMessage, ServerResponse } from "node:http";
import type { WebhookEvent } from "@workspace-tasks/events";
import { type Clock, systemClock } from "@workspace-tasks/kernel/clock.ts";
import { notifyListener } from "@workspace-tasks/kernel/notify-listener.ts";
import {
  durationMs,
  functionOf,
  optional,
  positiveInteger,
  strictOptions,
  withDefault,
} from "@workspace-tasks/kernel/schema.ts";
import { withTimeout } from "@workspace-tasks/kernel/with-timeout.ts";
import {
  isReceiverError,
  isWebhookRejectedError,
  ReceiverError,
  type WebhookRejectedError,
} from "./errors.ts";
import { type EventColumns, emptyColumns, eventOrder } from "./event/event-order.ts";
import { type ParsedDelivery, parseDelivery } from "./event/parse-delivery.ts";
import { ReceivingBodies, receivingBodiesOf } from "./http/receiving-bodies.ts";
import { nodeRequest } from "./http/request-body.ts";
import { acknowledged, responseFor } from "./http/responses.ts";
import { endFailed, requireUnsent, sendResponse } from "./http/send-response.ts";
import { type DeliverySink, handleWebhook, limitsOf, verifyRequest } from "./http/webhook-handler.ts";
import { type Inbox, inboxOption, openOnce } from "./inbox/inbox.ts";
import { consoleLogger, guardLogger } from "./logger.ts";
import { Maintenance, openWithRetentionTime } from "./maintenance/maintenance.ts";
import {
  defaults,
  parseOptions,
  type RequestLimitOptions,
  requireEventsVersion,
  sharedOptions,
} from "./options.ts";
import { type RetentionOptions, retentionOption } from "./receiver-options.ts";
import { tenantSource, throwIfOtherWorkspace } from "./signature/tenant.ts";
import { createVerifier, type VerifiedWebhook, type VerifierOptions } from "./signature/verifier.ts";
import { createAcceptor, orUnavailable } from "./worker/ingest.ts";

/** Fits Express 4 and 5, Connect, and `http.createServer` alike. */
export type WebhookRequestHandler = (
  request: IncomingMessage,
  response: ServerResponse,
  next?: NextFunction,
) => void;

/**
 * Receives deliveries at the path it is mounted on: verifies, stores durably, acknowledges.
 *
 * Reads the body itself, whatever its content type; mount it before `express.json()`. It sends the response and calls `next` only
 * with the error of a response that could not be written: 200 accepted, duplicate or quarantined; 400 malformed; 401 signature or age; 403
 * another tenant's workspace; 405; 408; 413; 415; 429 backlog full and 503 unavailable, both with `Retry-After`; 500 when the
 * body was parsed before.
 *
 * @example examples/receiver-kit.test.ts#express
 * ```ts
 * app.post("/webhooks", webhookMiddleware(receiver)); // before any body parser
 * app.use(express.json());
 * ```
 *
 * @throws {ReceiverError} `CONFIGURATION_INVALID` for what is no receiver
 * @see interface §6, "Delivery headers and verification"
 */
export function webhookMiddleware(receiver: DeliverySink): WebhookRequestHandler {
  const limits = limitsOf("webhookMiddleware", receiver);
  const bodies = receivingBodiesOf(receiver, limits);
  const { clock = systemClock } = receiver;
  return (request, response, next) => {
    const received = nodeRequest("webhookMiddleware", request, response, bodies, clock);
    handleWebhook(receiver, received)
      .then((result) => sendResponse(request, response, result, limits, clock))
      .catch((error: unknown) => {
        if (isWebhookRejectedError(error)) notifyListener(receiver.onRejected, error);
        endFailed(error, response, next);
      });
  };
}

/** What `verifyWebhook` sets on the request for the handlers after it. */
export interface ReceivedWebhook extends VerifiedWebhook {
  /** The parsed body; `undefined` when it is not an event, though its signature is valid. */
  readonly event: WebhookEvent | undefined;
  /** Why there is no event; names what is wrong and never repeats the body. */
  readonly problem: string | undefined;
}

/** What the inbox records of a delivery. Not a part of the request, which is the application's. */
const columns = new WeakMap<ReceivedWebhook, EventColumns>();

function setReceived(request: RequestWithWebhook, webhook: VerifiedWebhook, parsed: ParsedDelivery): void {
  const event = parsed.ok ? parsed.event : undefined;
  request.webhook = { ...webhook, event, problem: parsed.ok ? undefined : parsed.reason };
  columns.set(request.webhook, parsed.columns);
}

const columnsOf = (webhook: ReceivedWebhook): EventColumns => columns.get(webhook) ?? emptyColumns;

declare global {
  namespace Express {
    interface Request {
      /** The verified delivery; set by `verifyWebhook`. */
      webhook?: ReceivedWebhook;
    }
  }
}

type RequestWithWebhook = IncomingMessage & { webhook?: ReceivedWebhook };
type NextFunction = (error?: unknown) => void;

/** A middleware that either sends a response or passes the request on. Fits Express 4 and 5, and Connect. */
export type WebhookMiddleware = (
  request: RequestWithWebhook,
  response: ServerResponse,
  next: NextFunction,
) => void;

type MiddlewareErrorListener = (error: unknown, webhook: VerifiedWebhook) => void;

/** What `dedupeWebhook` and `orderWebhook` have in common. */
interface InboxMiddlewareOptions {
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
const inboxMiddlewareOptions = {
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
function afterVerify(
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
function endResponse(response: ServerResponse, { status, headers, body } = acknowledged): void {
  if (response.headersSent || response.destroyed) return;
  response.statusCode = status;
  response.writeHead(status, headers);
  response.end(body);
}

/**
 * Runs `settle` when the handler ends its response, before the end is sent: the outcome that the sender receives is then already
 * recorded, also when the sender has disconnected.
 */
function interceptEnd(response: ServerResponse, settle: () => Promise<void>): void {
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

export interface VerifyWebhookOptions extends VerifierOptions {
  readonly limits?: RequestLimitOptions | undefined;
  /**
   * Called for every rejected request. What it throws is ignored. Default: a body that was read before, and a response
   * that other code has sent, emit one process warning each.
   */
  readonly onRejected?: DeliverySink["onRejected"];
}

const verifyOptions = strictOptions<VerifyWebhookOptions>()({
  secrets: sharedOptions.secrets,
  toleranceSeconds: sharedOptions.toleranceSeconds,
  clock: sharedOptions.clock,
  limits: sharedOptions.limits,
  onRejected: sharedOptions.onRejected,
});

/**
 * The first of three composable middlewares: verifies a delivery and sets `request.webhook`, or sends the response.
 *
 * Reads the body itself, whatever its content type; mount it before `express.json()`. A genuine delivery that cannot be
 * parsed as an event is passed on with `event: undefined` and the `problem`.
 *
 * @example examples/receiver-kit.test.ts#middlewares
 * ```ts
 * const inbox = memoryInbox(); // in production sqliteInbox or postgresInbox
 * app.post(
 *   "/webhooks",
 *   verifyWebhook({ secrets: [signingSecret] }),
 *   dedupeWebhook({ inbox }),
 *   orderWebhook({ inbox }),
 *   (request, response) => {
 *     handled.push(request.webhook?.event?.event);
 *     response.sendStatus(204);
 *   },
 * );
 * ```
 *
 * @throws {ReceiverError} `CONFIGURATION_INVALID` or `SECRET_INVALID` for options that can never work, `VERSION_MISMATCH`
 * @see interface §6, "Delivery headers and verification"
 */
export function verifyWebhook(options: VerifyWebhookOptions): WebhookMiddleware {
  requireEventsVersion();
  const settings = parseOptions("verifyWebhook", verifyOptions, options);
  const { toleranceSeconds, clock, limits, onRejected = createMountingWarning() } = settings;
  const verifier = createVerifier({ secrets: options.secrets, toleranceSeconds, clock });
  const bodies = new ReceivingBodies(limits);
  return (request, response, next) => {
    const verified = verifyRequest(verifier, nodeRequest("verifyWebhook", request, response, bodies, clock));
    const pass = (webhook: VerifiedWebhook) => {
      const parsed = parseDelivery(webhook.body, clock.now(), webhook.tenant !== undefined);
      throwIfOtherWorkspace(webhook, parsed.workspace);
      setReceived(request, webhook, parsed);
      requireUnsent(response);
    };
    const respond = (error: unknown) => {
      if (isReceiverError(error, "RESPONSE_FAILED")) throw error;
      if (isWebhookRejectedError(error)) notifyListener(onRejected, error);
      sendResponse(request, response, responseFor(error), limits, clock);
    };
    verified
      .then(pass)
      .then(() => next(), respond)
      .catch((error: unknown) => {
        if (isWebhookRejectedError(error)) notifyListener(onRejected, error);
        endFailed(error, response, next);
      });
  };
}

/** A listener that emits one process warning for each mistake of the program by which every delivery would be rejected or lost. */
function createMountingWarning(): (rejection: WebhookRejectedError) => void {
  const unwarned = new Set(["BODY_CONSUMED", "RESPONSE_FAILED"]);
  return ({ code, message }) => {
    if (unwarned.delete(code)) process.emitWarning(message, { code: `WORKSPACE_TASKS_${code}` });
  };
}

export interface DedupeWebhookOptions extends InboxMiddlewareOptions {
  /** How long a handler may take before the next attempt of the sender starts it again. Default 30,000. */
  readonly leaseMs?: number | undefined;
  /** Bytes of deliveries that wait for the inbox to store them, beyond which the response is 503. Default 67,108,864. */
  readonly storingBytesMax?: number | undefined;
  /** How long deliveries are kept; a minimum of 14 days for ids. */
  readonly retention?: RetentionOptions | undefined;
}

const dedupeOptions = strictOptions<DedupeWebhookOptions>()({
  ...inboxMiddlewareOptions,
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
export function dedupeWebhook(options: DedupeWebhookOptions): WebhookMiddleware {
  const settings = parseOptions("dedupeWebhook", dedupeOptions, options);
  const { inbox, leaseMs, onError } = settings;
  const maintenance = new Maintenance({
    ...settings,
    logger: guardLogger(consoleLogger),
    received: () => 0,
  });
  const open = openWithRetentionTime(inbox, openOnce(inbox));
  const store = createAcceptor({ ...settings, open });
  return afterVerify("dedupeWebhook", onError, async (webhook, response, next) => {
    const { id, timestamp, body, problem: quarantine, secretIndex } = webhook;
    const source = tenantSource(settings.source, webhook.tenant?.id);
    // It ends when the inbox is closed, which may be opened again.
    maintenance.begin();
    if (quarantine !== undefined) {
      const row = {
        ...columnsOf(webhook),
        source,
        id,
        timestamp,
        body,
        ...({ channel: "webhook", quarantine, secretIndex, traceparent: null } as const),
      };
      await store("insert", body.byteLength, () => inbox.insert(row));
      return endResponse(response);
    }
    const begin = await store("beginInline", body.byteLength, () =>
      inbox.beginInline(webhook, { source, leaseMs }),
    );
    if (begin.state === "done") return endResponse(response);
    if (begin.state === "busy") {
      const retryAfterSeconds = Math.ceil(begin.retryAfterMs / 1_000);
      throw new ReceiverError("INBOX_UNAVAILABLE", "an earlier attempt is in progress", {
        retryAfterSeconds,
      });
    }
    const { generation } = begin;
    interceptEnd(response, async () => {
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

/** Lets callers enter one at a time per key, in the order of their calls. Keys without callers take no memory. */
export class KeyQueue {
  readonly #tails = new Map<string, Promise<void>>();

  /** Resolves when the caller may enter; the caller must then call the returned function, once or more. */
  async enter(key: string): Promise<() => void> {
    const before = this.#tails.get(key);
    let leave = () => {};
    const left = new Promise<void>((resolve) => {
      leave = resolve;
    });
    const tail = before ? before.then(() => left) : left;
    this.#tails.set(key, tail);
    await before;
    return () => {
      if (this.#tails.get(key) === tail) this.#tails.delete(key);
      leave();
    };
  }

  /** Keys with at least one caller that has entered or waits. */
  get size(): number {
    return this.#tails.size;
  }
}

export interface OrderWebhookOptions extends InboxMiddlewareOptions {
  /** How long a delivery waits for another of the same task or stage that is being handled. Default 10,000. */
  readonly waitMs?: number | undefined;
}

const orderOptions = strictOptions<OrderWebhookOptions>()({
  ...inboxMiddlewareOptions,
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
export function orderWebhook(options: OrderWebhookOptions): WebhookMiddleware {
  const settings = parseOptions("orderWebhook", orderOptions, options);
  const { inbox, waitMs, clock, onError } = settings;
  const open = openOnce(inbox);
  const queue = new KeyQueue();
  return afterVerify("orderWebhook", onError, async (webhook, response, next) => {
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
    interceptEnd(response, async () => {
      cancelTimeout();
      leave();
    });
    if (verdict === "stale") endResponse(response);
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
