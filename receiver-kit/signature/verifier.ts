// The signature is computed over the raw bytes as they came, by the platform's own HMAC. Decoding them to text
// first, as is common, maps every invalid byte to U+FFFD and so lets a changed byte through.

import { createHmac, type KeyObject, timingSafeEqual } from "node:crypto";
import { types } from "node:util";
import { type Clock, systemClock } from "../clock.ts";
import { WebhookRejectedError } from "../errors.ts";
import { createSecretRing, type Secrets } from "./secret-ring.ts";
import { readSignatureHeaders, type SignedHeaders, type WebhookHeaders } from "./signature-headers.ts";

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

export type VerifierOptions = {
  /**
   * The endpoint's signing secrets, `whsec_…`: several while one is rotated. A function is asked at every
   * delivery, so that secrets can change without a restart; it should answer from memory.
   */
  readonly secrets: Secrets;
  /** How far the signing time may lie in the past or the future. Default 300. */
  readonly toleranceSeconds?: number | undefined;
  readonly clock?: Clock | undefined;
};

/**
 * Checks deliveries against the endpoint's signing secrets; keeps no state between them and stores nothing.
 *
 * The raw body must be the bytes as received: a body that was parsed and written again does not verify.
 *
 * @throws {WebhookSecretError} at once when a secret cannot be right
 * @throws {RangeError} at once when `toleranceSeconds` is not a positive number
 * @see interface §6, "Delivery headers and verification"
 */
export function createVerifier(options: VerifierOptions): Verifier {
  const { toleranceSeconds = 300, clock = systemClock } = options;
  if (!(toleranceSeconds > 0 && Number.isFinite(toleranceSeconds))) {
    throw new RangeError(`toleranceSeconds: expected a positive number, got ${String(toleranceSeconds)}`);
  }
  const ring = createSecretRing(options.secrets, clock);

  const readHeaders: Verifier["readHeaders"] = (headers, { receivedAt = clock.now() } = {}) => {
    const signed = readSignatureHeaders(headers);
    checkAge(signed, receivedAt, toleranceSeconds);
    return signed;
  };
  const verifyBody: Verifier["verifyBody"] = async (rawBody, headers) => {
    rejectNonBytes(rawBody);
    const keys = ring.fixed ?? (await ring.current());
    return matchSignature(rawBody, headers, keys);
  };
  return {
    readHeaders,
    verifyBody,
    // Async, so that refused headers too arrive as a rejection of the promise.
    verify: async (rawBody, headers, verifyOptions) =>
      verifyBody(rawBody, readHeaders(headers, verifyOptions)),
  };
}

function checkAge({ id, timestamp }: SignedHeaders, receivedAt: number, toleranceSeconds: number): void {
  const ageSeconds = Math.floor(receivedAt / 1000) - timestamp;
  if (ageSeconds > toleranceSeconds) {
    throw new WebhookRejectedError(
      "TIMESTAMP_TOO_OLD",
      `webhook-timestamp: signed ${ageSeconds} s ago, expected at most ${toleranceSeconds} s`,
      { webhookId: id },
    );
  }
  // Written so that an age that is no number is refused as well.
  if (!(ageSeconds >= -toleranceSeconds)) {
    throw new WebhookRejectedError(
      "TIMESTAMP_TOO_NEW",
      `webhook-timestamp: signed ${-ageSeconds} s in the future, expected at most ${toleranceSeconds} s; is this machine's clock right?`,
      { webhookId: id },
    );
  }
}

function matchSignature(
  rawBody: Uint8Array,
  { id, timestamp, signedPrefix, signatures }: SignedHeaders,
  keys: readonly KeyObject[],
): VerifiedWebhook {
  if (signatures.length > 0) {
    for (const [secretIndex, key] of keys.entries()) {
      const expected = createHmac("sha256", key).update(signedPrefix).update(rawBody).digest("base64");
      if (includesInConstantTime(signatures, expected)) return { id, timestamp, body: rawBody, secretIndex };
    }
  }
  throw new WebhookRejectedError(
    "SIGNATURE_MISMATCH",
    `none of ${signatures.length} v1 signatures fits the body of ${rawBody.length} bytes with any of ${keys.length} secrets: ` +
      "another endpoint's secret, or the body was changed on the way",
    { webhookId: id },
  );
}

// Base64 of a SHA-256 digest. Comparing the texts, not what they decode to, admits one spelling only.
const signatureChars = 44;
const expectedBytes = Buffer.alloc(signatureChars);
const offeredBytes = Buffer.alloc(signatureChars);

function includesInConstantTime(signatures: readonly string[], expected: string): boolean {
  expectedBytes.write(expected, "latin1");
  let found = false;
  for (const signature of signatures) {
    if (signature.length !== signatureChars) continue;
    offeredBytes.write(signature, "latin1");
    if (timingSafeEqual(expectedBytes, offeredBytes)) found = true;
  }
  return found;
}

function rejectNonBytes(rawBody: unknown): void {
  if (types.isUint8Array(rawBody)) return;
  throw new WebhookRejectedError(
    "BODY_CONSUMED",
    `expected the raw body as bytes (Uint8Array or Buffer), got ${rawBody === null ? "null" : typeof rawBody}: ` +
      "only the exact bytes received can be verified, not a decoded or parsed body",
  );
}
