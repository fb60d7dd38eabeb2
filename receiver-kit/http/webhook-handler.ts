// The path of a request, whatever framework received it. Checks go from cheap to expensive: method, headers, age,
// declared size, body, signature, and only then the inbox, so that a forged request causes no database access.
//
// `DeliverySink` is the port to the storing side (inbox, order, handlers): this side knows nothing of events, and that
// side nothing of HTTP.

import type { Clock } from "@workspace-tasks/kernel/clock.ts";
import { notifyListener } from "@workspace-tasks/kernel/notify-listener.ts";
import { objectWith, strictOptions } from "@workspace-tasks/kernel/schema.ts";
import { isReceiverError, isWebhookRejectedError, WebhookRejectedError } from "../errors.ts";
import type { AcceptContext, AcceptResult } from "../event/accept-result.ts";
import { parseOptions, type RequestLimits, sharedOptions } from "../options.ts";
import { findHeader, type WebhookHeaders } from "../signature/signature-headers.ts";
import type { VerifiedWebhook, Verifier } from "../signature/verifier.ts";
import { type AcceptEnd, type DeliveryTelemetry, reported } from "../stats/delivery-telemetry.ts";
import { acknowledged, responseFor, type WebhookResponse } from "./responses.ts";

/** What the HTTP adapters need of a receiver. */
export interface DeliverySink {
  readonly verifier: Verifier;
  readonly limits: RequestLimits;
  /** Names the endpoint in traces. */
  readonly source?: string | undefined;
  readonly telemetry?: DeliveryTelemetry | undefined;
  /** Measures `bodyTimeoutMs`. Default: the machine's. */
  readonly clock?: Clock | undefined;
  /**
   * Resolves once the delivery is durable. The body is parsed as an event here.
   *
   * @throws {ReceiverError} `INBOX_UNAVAILABLE`, `BROKER_UNAVAILABLE`: the response is 503; `BACKLOG_FULL`: 429; with
   * `Retry-After`
   * @throws {WebhookRejectedError} `WORKSPACE_MISMATCH`: 403
   */
  accept(webhook: VerifiedWebhook, context?: AcceptContext): Promise<AcceptResult>;
  /** True from the call of `close` on: each response then asks the sender to close its connection. */
  readonly isClosing?: (() => boolean) | undefined;
  /** Called for every rejected request. What it throws is ignored. */
  readonly onRejected?: ((rejection: WebhookRejectedError) => void) | undefined;
  /** Called with what `accept` threw, or with an unexpected error before it. What it throws is ignored. */
  readonly onError?: ((error: unknown, webhook: VerifiedWebhook | undefined) => void) | undefined;
}

const deliverySink = objectWith<DeliverySink>("a receiver, such as createReceiver(…)", "accept");
const sinkLimits = strictOptions<{ limits: RequestLimits }>()({ limits: sharedOptions.limits });

/**
 * The limits of a sink, which may be written by the caller.
 *
 * @throws {ReceiverError} `CONFIGURATION_INVALID`
 */
export function limitsOf(caller: string, sink: DeliverySink): RequestLimits {
  parseOptions(caller, deliverySink, sink);
  return parseOptions(caller, sinkLimits, { limits: sink.limits }).limits;
}

export interface WebhookRequest {
  readonly method: string | undefined;
  /** The request target: a path or a whole URL. */
  readonly url: string | undefined;
  readonly headers: WebhookHeaders;
  /** Called at most once, in the same tick as the handler. Rejects with a `WebhookRejectedError`. */
  readBody(): Promise<Uint8Array>;
}

/** Verifies a request and passes the delivery to the sink. Never rejects. */
export async function handleWebhook(sink: DeliverySink, request: WebhookRequest): Promise<WebhookResponse> {
  const { telemetry, source = "" } = sink;
  const traceparent = readTraceparent(request.headers);
  const accept = (kept = traceparent) => acceptRequest(sink, request, kept);
  const { response } = telemetry
    ? await reported(accept, (run) => telemetry.accept({ source, traceparent }, run))
    : await accept();
  if (sink.isClosing?.() !== true) return response;
  // On a connection that is kept alive, a proxy would send to a server that no longer listens for as long as it has deliveries.
  return { ...response, headers: { ...response.headers, connection: "close" } };
}

type Accepted = AcceptEnd & { readonly response: WebhookResponse };

async function acceptRequest(
  sink: DeliverySink,
  request: WebhookRequest,
  traceparent: string | undefined,
): Promise<Accepted> {
  let webhook: VerifiedWebhook | undefined;
  const end = (response: WebhookResponse, fields: Partial<AcceptEnd>): Accepted => ({
    response,
    status: response.status,
    ...(webhook && { id: webhook.id, tenant: webhook.tenant?.id, bodyBytes: webhook.body.byteLength }),
    ...fields,
  });
  try {
    webhook = await verifyRequest(sink.verifier, request);
    const { outcome } = await sink.accept(webhook, { traceparent });
    return end(acknowledged, { outcome });
  } catch (error) {
    if (isWebhookRejectedError(error)) notifyListener((each) => sink.onRejected?.(each), error);
    else notifyListener(sink.onError, error, webhook);
    return end(responseFor(error), { code: isReceiverError(error) ? error.code : "UNEXPECTED" });
  }
}

/** @throws {WebhookRejectedError} */
export async function verifyRequest(verifier: Verifier, request: WebhookRequest): Promise<VerifiedWebhook> {
  if (request.method !== "POST") {
    throw new WebhookRejectedError("METHOD_NOT_ALLOWED", "method: expected POST");
  }
  const headers = verifier.readHeaders(request.headers);
  return verifier.verifyBody(await request.readBody(), headers, request);
}

/**
 * The `traceparent` header when it is valid: the W3C format, version 00, no id all zeros. Anyone can send one, so it is
 * never a reason to reject a delivery.
 */
function readTraceparent(headers: WebhookHeaders): string | undefined {
  try {
    const value = findHeader(headers, "traceparent");
    return value !== undefined && traceparentPattern.test(value) ? value : undefined;
  } catch {
    // Repeated: it is not known which one is meant.
    return undefined;
  }
}

const traceparentPattern = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;
