// The seam between the request side (headers, body, signature, HTTP answers) and the storing side (inbox,
// order, handlers). The request side knows nothing of events; the storing side knows nothing of HTTP.

import type { Clock } from "./clock.ts";
import type { WebhookRejectedError } from "./errors.ts";

/** The three headers of a delivery, checked for shape and age but not yet for the signature. */
export type SignedHeaders = {
  readonly id: string;
  /** When this attempt was signed, in Unix seconds. */
  readonly timestamp: number;
  /** The exact bytes that were signed in front of the body: id, dot, timestamp, dot. */
  readonly signedPrefix: string;
  /** Signatures of the version this kit knows, as base64 text, in the order they came. */
  readonly signatures: readonly string[];
};

/** A delivery whose signature is right. Its body is the exact bytes that were signed, not yet read as an event. */
export type VerifiedWebhook = {
  /** The `webhook-id`: the same for every attempt of one delivery. */
  readonly id: string;
  /** When this attempt was signed, in Unix seconds. */
  readonly timestamp: number;
  readonly body: Uint8Array;
  /** Which of the active secrets signed it, counted from 0: tells when an old one may be retired. */
  readonly secretIndex: number;
};

/**
 * Headers in any of the usual forms: a fetch `Headers`, Node's `req.headers` or `req.headersDistinct`, or
 * Node's flat `req.rawHeaders`. Only the last two show every repeated header.
 */
export type WebhookHeaders =
  | { get(name: string): string | null }
  | { readonly [name: string]: string | readonly string[] | undefined }
  | readonly string[];

export type VerifyOptions = {
  /** When the request arrived, in milliseconds since the epoch. Default: now. For verifying later what was kept. */
  readonly receivedAt?: number;
};

export interface Verifier {
  /** Checks headers, age and signature. @throws {WebhookRejectedError} */
  verify(rawBody: Uint8Array, headers: WebhookHeaders, options?: VerifyOptions): Promise<VerifiedWebhook>;
  /** The first half of `verify`: what can be refused before the body is read. @throws {WebhookRejectedError} */
  readHeaders(headers: WebhookHeaders, options?: VerifyOptions): SignedHeaders;
  /** The second half of `verify`: the signature over the raw bytes. @throws {WebhookRejectedError} */
  verifyBody(rawBody: Uint8Array, headers: SignedHeaders): Promise<VerifiedWebhook>;
}

/** All three are answered alike, byte for byte: the sender has nothing left to do. */
export type Acceptance = { readonly outcome: "accepted" | "duplicate" | "quarantined" };

export type RequestLimits = {
  /** Largest request body. Larger ones are answered 413. Default 1,048,576. */
  readonly bodyBytesMax: number;
  /** Time a body may take to arrive. Slower ones are answered 408. Default 10,000. */
  readonly bodyTimeoutMs: number;
};

/** What the HTTP adapters need of a receiver. */
export interface WebhookAcceptor {
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
  accept(webhook: VerifiedWebhook): Promise<Acceptance>;
  /** Told of every refused request. What it throws is ignored. */
  readonly onRejected?: ((rejection: WebhookRejectedError) => void) | undefined;
  /** Told of what `accept` threw, or of a fault of the kit before it. What it throws is ignored. */
  readonly onAcceptFailed?: ((error: unknown, webhook: VerifiedWebhook | undefined) => void) | undefined;
}

export type InlineBegin =
  /** Nobody has applied this id: the caller applies it now and then calls `finishInline`. */
  | { readonly state: "begun"; readonly generation: number }
  /** This id was applied before, or is in quarantine. */
  | { readonly state: "done" }
  /** Another caller is applying this id right now and its lease still runs. */
  | { readonly state: "busy"; readonly retryAfterMs: number };

/**
 * What the composable middlewares `dedupeWebhook` and `orderWebhook` ask of an inbox. Every inbox has it.
 *
 * A row begun inline belongs to the request that began it: no worker claims it, also after its lease ran out.
 * All three throw `InboxUnavailableError` when the inbox cannot answer.
 */
export interface InlineInbox {
  /** Stores the delivery, or takes over one whose earlier attempt failed or lost its lease. Durable on return. */
  beginInline(
    webhook: VerifiedWebhook,
    options: { readonly source: string; readonly leaseMs: number },
  ): Promise<InlineBegin>;
  /**
   * Ends what `beginInline` began: `done` for good, `failed` so that the sender's next attempt begins anew.
   * False when another caller has taken over since (the generation no longer matches); nothing is changed then.
   */
  finishInline(
    id: string,
    options: { readonly source: string; readonly generation: number; readonly outcome: "done" | "failed" },
  ): Promise<boolean>;
  /**
   * Moves the ordering head of `key` to `position` unless it is already further, in one atomic step.
   *
   * `same` means that this very event moved it before, as when its first attempt failed afterwards: it may be
   * applied. Only `stale` must not be.
   */
  advanceHead(options: {
    readonly source: string;
    readonly key: string;
    readonly position: OrderPosition;
  }): Promise<"newer" | "same" | "stale">;
}

/** Where an event stands among the events of its key: compared field by field, in this order. */
export type OrderPosition = {
  /** Nanoseconds since the epoch, from the text of `occurredAt`. */
  readonly occurredAt: bigint;
  /** Breaks a tie of `occurredAt`: a terminal status outranks a running one. */
  readonly rank: number;
  /** Breaks the last tie, by bytes: the id of the event. */
  readonly id: string;
};
