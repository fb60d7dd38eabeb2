// The signature is computed over the raw bytes. Decoding them to text first, as is common, maps every invalid byte to
// U+FFFD, so that a changed byte passes.

import { timingSafeEqual } from "node:crypto";
import { types } from "node:util";
import type { Clock } from "@workspace-tasks/kernel/clock.ts";
import { strictOptions } from "@workspace-tasks/kernel/schema.ts";
import { WebhookRejectedError } from "../errors.ts";
import { parseOptions, sharedOptions } from "../options.ts";
import {
  createKeySource,
  type ReceivedRequest,
  type Secrets,
  type SigningKeys,
  type TenantIdentity,
} from "./key-source.ts";
import { signatureOf } from "./secret.ts";
import { readSignatureHeaders, type SignedHeaders, type WebhookHeaders } from "./signature-headers.ts";

/** A delivery whose signature is valid. Its body is the bytes that were signed, not yet parsed. */
export interface VerifiedWebhook {
  /** The `webhook-id`: the same for every attempt of one delivery. */
  readonly id: string;
  /** When this attempt was signed, in Unix seconds. */
  readonly timestamp: number;
  readonly body: Uint8Array;
  /** Index of the secret that signed it: shows when an old one is no longer in use. */
  readonly secretIndex: number;
  /**
   * Whose secret that is, when `secrets` finds the tenant. The verifier does not read the body: compare `workspaceId` with
   * that of the event, as receivers and `verifyWebhook` do.
   */
  readonly tenant?: TenantIdentity | undefined;
}

export interface VerifyOptions {
  /** When the request arrived, in milliseconds since the epoch; for deliveries verified later. Default: now. */
  readonly receivedAt?: number | undefined;
  /** URL or path of the request, for a `secrets` function that decides by it. */
  readonly url?: string | undefined;
}

export interface Verifier {
  /** Checks headers, age and signature. @throws {WebhookRejectedError} */
  verify(rawBody: Uint8Array, headers: WebhookHeaders, options?: VerifyOptions): Promise<VerifiedWebhook>;
  /** The first half of `verify`: headers and age, before the body is read. @throws {WebhookRejectedError} */
  readHeaders(headers: WebhookHeaders, options?: VerifyOptions): SignedHeaders;
  /**
   * The second half of `verify`: the signature over the raw bytes. `request` is what a `secrets` function decides by.
   *
   * @throws {WebhookRejectedError}
   */
  verifyBody(
    rawBody: Uint8Array,
    headers: SignedHeaders,
    request?: ReceivedRequest,
  ): Promise<VerifiedWebhook>;
}

export interface VerifierOptions {
  /**
   * The endpoint's signing secrets, `whsec_…`: several while one is rotated, at most 16. A function is called at every
   * delivery, so that secrets change without a restart; it should return from memory. `{ byTenant }` finds whose
   * delivery it is, by path or headers, for one receiver of many tenants.
   */
  readonly secrets: Secrets;
  /** How far the signing time may lie in the past or the future. Default 300. */
  readonly toleranceSeconds?: number | undefined;
  readonly clock?: Clock | undefined;
}

const verifierOptions = strictOptions<VerifierOptions>()({
  secrets: sharedOptions.secrets,
  toleranceSeconds: sharedOptions.toleranceSeconds,
  clock: sharedOptions.clock,
});

/**
 * Checks deliveries against the endpoint's signing secrets; has no state and stores nothing.
 *
 * The raw body must be the bytes as received: a body that was parsed and serialized again does not verify.
 *
 * @example examples/receiver-kit.test.ts#verifier
 * ```ts
 * const verifier = createVerifier({ secrets: [signingSecret] });
 * const { id, body } = await verifier.verify(rawBody, headers, { receivedAt });
 * ```
 *
 * @throws {ReceiverError} `CONFIGURATION_INVALID` or `SECRET_INVALID` for options that can never work
 * @see interface §6, "Delivery headers and verification"
 */
export function createVerifier(options: VerifierOptions): Verifier {
  const { toleranceSeconds, clock } = parseOptions("createVerifier", verifierOptions, options);
  const keysOf = createKeySource(options.secrets, clock);

  const readHeaders: Verifier["readHeaders"] = (headers, { receivedAt = clock.now() } = {}) => {
    const signed = readSignatureHeaders(headers);
    checkAge(signed, receivedAt, toleranceSeconds);
    return signed;
  };
  const verifyBody: Verifier["verifyBody"] = async (rawBody, headers, request = { headers: [] }) => {
    rejectNonBytes(rawBody);
    return matchSignature(rawBody, headers, await keysOf(request));
  };
  return {
    readHeaders,
    verifyBody,
    // Async, so that rejected headers also reject the promise.
    verify: async (rawBody, headers, verifyOptions) =>
      verifyBody(rawBody, readHeaders(headers, verifyOptions), { headers, url: verifyOptions?.url }),
  };
}

function checkAge({ id, timestamp }: SignedHeaders, receivedAt: number, toleranceSeconds: number): void {
  const ageSeconds = Math.floor(receivedAt / 1000) - timestamp;
  if (ageSeconds > toleranceSeconds) {
    const message = `webhook-timestamp: signed ${ageSeconds} s ago, expected at most ${toleranceSeconds} s; is this machine's clock ahead, or did a queue hold it?`;
    throw new WebhookRejectedError("TIMESTAMP_TOO_OLD", message, { webhookId: id });
  }
  // Negated, so that NaN is rejected too.
  if (!(ageSeconds >= -toleranceSeconds)) {
    const ahead = `signed ${-ageSeconds} s in the future, expected at most ${toleranceSeconds} s`;
    const message = `webhook-timestamp: ${ahead}; is this machine's clock behind?`;
    throw new WebhookRejectedError("TIMESTAMP_TOO_NEW", message, { webhookId: id });
  }
}

function matchSignature(
  rawBody: Uint8Array,
  { id, timestamp, signedPrefix, signatures }: SignedHeaders,
  { keys, tenant, isUnknown }: SigningKeys,
): VerifiedWebhook {
  if (signatures.length > 0) {
    for (const [secretIndex, key] of keys.entries()) {
      const expected = signatureOf(key, signedPrefix, rawBody);
      if (!includesInConstantTime(signatures, expected) || isUnknown) continue;
      rejectMovedDots(rawBody, id);
      return { id, timestamp, body: rawBody, secretIndex, ...(tenant && { tenant }) };
    }
  }
  if (isUnknown) {
    throw new WebhookRejectedError("TENANT_UNKNOWN", "secrets.byTenant: the request belongs to no tenant", {
      webhookId: id,
    });
  }
  throw new WebhookRejectedError(
    "SIGNATURE_MISMATCH",
    `none of ${signatures.length} v1 signatures matches the body of ${rawBody.length} bytes with any of ${keys.length} secrets: ` +
      "another endpoint's secret, or a body changed in transit",
    { webhookId: id },
  );
}

/**
 * The signed text `a.1772357400.1772357401.{…}` is also that of the id `a` with a body that begins with the second
 * timestamp. The service signs objects, so the split in which the body begins with a brace is the right one.
 */
function rejectMovedDots(rawBody: Uint8Array, webhookId: string): void {
  if (rawBody[0] === openingBrace) return;
  const start = Buffer.from(rawBody.buffer, rawBody.byteOffset, Math.min(rawBody.byteLength, 300));
  if (!/^(?:[A-Za-z0-9._:~+/=@-]{1,255}\.)?[1-9][0-9]{9,11}\./.test(start.toString("latin1"))) return;
  const message =
    "the body begins like the end of an id and a timestamp: the signature is that of another delivery";
  throw new WebhookRejectedError("SIGNATURE_MISMATCH", message, { webhookId });
}

const openingBrace = 0x7b;

// Base64 of a SHA-256 digest. The texts are compared and not the decoded bytes, so that only one spelling is accepted.
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
