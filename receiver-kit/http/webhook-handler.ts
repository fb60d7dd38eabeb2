// What happens to a request, whatever framework brought it. The steps go from cheap to dear: method, headers,
// age, declared size, body, signature, and only then the inbox, so that nothing forged costs a store call.

import type { Clock } from "../clock.ts";
import { WebhookRejectedError } from "../errors.ts";
import type { SignedHeaders, WebhookHeaders } from "../signature/signature-headers.ts";
import type { VerifiedWebhook, Verifier } from "../signature/verifier.ts";
import type { RequestLimits } from "./request-body.ts";
import { acknowledged, responseFor, type WebhookResponse } from "./responses.ts";

/** All three are answered alike, byte for byte: the sender has nothing left to do. */
export type AcceptResult = { readonly outcome: "accepted" | "duplicate" | "quarantined" };

/** What the HTTP adapters need of a receiver. */
export interface DeliverySink {
  readonly verifier: Verifier;
  readonly limits: RequestLimits;
  /** Measures `bodyTimeoutMs`. Default: the machine's. */
  readonly clock?: Clock | undefined;
  /**
   * Resolves once the delivery is durable. Reading the body as an event, and deciding on quarantine, happen here.
   *
   * @throws {InboxUnavailableError} answered 503 with `Retry-After`
   * @throws {BacklogFullError} answered 429 with `Retry-After`
   */
  accept(webhook: VerifiedWebhook): Promise<AcceptResult>;
  /** Told of every refused request. What it throws is ignored. */
  readonly onRejected?: ((rejection: WebhookRejectedError) => void) | undefined;
  /** Told of what `accept` threw, or of a fault of the kit before it. What it throws is ignored. */
  readonly onError?: ((error: unknown, webhook: VerifiedWebhook | undefined) => void) | undefined;
}

export type WebhookRequest = {
  readonly method: string | undefined;
  readonly headers: WebhookHeaders;
  /** Called at most once, in the same tick as the handler. Rejects with a `WebhookRejectedError`. */
  readBody(): Promise<Uint8Array>;
};

/** Takes a request through verification and the inbox to its answer. Never rejects. */
export async function handleWebhook(
  sink: DeliverySink,
  request: WebhookRequest,
  onRejected = sink.onRejected,
): Promise<WebhookResponse> {
  let webhook: VerifiedWebhook | undefined;
  try {
    webhook = await verifyRequest(sink.verifier, request);
    await sink.accept(webhook);
    return acknowledged;
  } catch (error) {
    if (error instanceof WebhookRejectedError) notifyListener(onRejected, error);
    else notifyListener(sink.onError, error, webhook);
    return responseFor(error);
  }
}

/** @throws {WebhookRejectedError} */
export async function verifyRequest(verifier: Verifier, request: WebhookRequest): Promise<VerifiedWebhook> {
  if (request.method !== "POST") {
    throw new WebhookRejectedError("METHOD_NOT_ALLOWED", "method: expected POST");
  }
  const headers: SignedHeaders = verifier.readHeaders(request.headers);
  return verifier.verifyBody(await request.readBody(), headers);
}

/** Calls a listener whose failure must not change the answer. */
export function notifyListener<Args extends unknown[]>(
  listener: ((...args: Args) => void) | undefined,
  ...args: Args
): void {
  try {
    listener?.(...args);
  } catch {
    // The listener only watches; the sender must be answered all the same.
  }
}
