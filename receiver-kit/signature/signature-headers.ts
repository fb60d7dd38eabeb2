// Everything that can be rejected by three short header values, before the body is read or a hash is computed. Only
// what a correct sender writes is accepted. What lenient parsers accept (a timestamp such as `123x`, a repeated header,
// `v1,good,junk`) is rejected, because text that two parsers read differently lets a signature over one delivery pass
// for another.
//
// The signed text is `id.timestamp.body`, and an id may contain what looks like a timestamp. So that moving the dots
// cannot produce another delivery, the verifier rejects a body that begins like the end of an id and a timestamp.

import { WebhookRejectedError } from "../errors.ts";

/** The three headers of a delivery, well formed; the signature is not checked yet. */
export interface SignedHeaders {
  readonly id: string;
  /** When this attempt was signed, in Unix seconds. */
  readonly timestamp: number;
  /** What was signed in front of the body: id, dot, timestamp, dot. */
  readonly signedPrefix: string;
  /** The `v1` signatures as base64 text, in the order of the header. */
  readonly signatures: readonly string[];
}

/**
 * Headers in any of the usual forms: a fetch `Headers`, Node's `req.headers` or `req.headersDistinct`, or
 * Node's flat `req.rawHeaders`. Only the last two contain every repeated header.
 */
export type WebhookHeaders =
  | { get(name: string): string | null }
  | { readonly [name: string]: string | readonly string[] | undefined }
  | readonly string[];

/** About 170 signatures: the service signs with every secret that is in its grace, and their number is not documented. */
const signatureHeaderCharsMax = 8192;

const idPattern = /^[A-Za-z0-9._:~+/=@-]{1,255}$/;
const timestampPattern = /^[1-9][0-9]{0,11}$/;
// The characters of base64 and of base64url. A base64url signature never matches, but it is not malformed.
const signaturePattern = /^[A-Za-z0-9]{1,8},[A-Za-z0-9+/_-]+={0,2}$/;

/**
 * Reads the three signature headers, each exactly once and well formed. Signatures of other versions than `v1` are
 * ignored, so that a sender may add new ones.
 *
 * @throws {WebhookRejectedError} HEADER_MISSING, HEADER_REPEATED, ID_MALFORMED, TIMESTAMP_MALFORMED, SIGNATURE_MALFORMED
 */
export function readSignatureHeaders(headers: WebhookHeaders): SignedHeaders {
  const id = required(headers, "webhook-id");
  const timestamp = required(headers, "webhook-timestamp");
  const signature = required(headers, "webhook-signature");
  if (!idPattern.test(id)) {
    const expected = "1 to 255 letters, digits or . _ : ~ + / = @ -";
    throw new WebhookRejectedError("ID_MALFORMED", `webhook-id: expected ${expected}`);
  }
  if (!timestampPattern.test(timestamp)) {
    const message = "webhook-timestamp: expected whole Unix seconds in plain digits";
    throw new WebhookRejectedError("TIMESTAMP_MALFORMED", message, { webhookId: id });
  }
  return {
    id,
    timestamp: Number(timestamp),
    signedPrefix: `${id}.${timestamp}.`,
    signatures: readSignatures(signature, id),
  };
}

function readSignatures(header: string, webhookId: string): string[] {
  const malformed = (problem: string) =>
    new WebhookRejectedError("SIGNATURE_MALFORMED", `webhook-signature: ${problem}`, { webhookId });
  if (header.length > signatureHeaderCharsMax) {
    throw malformed(`expected at most ${signatureHeaderCharsMax} characters, got ${header.length}`);
  }
  const signatures: string[] = [];
  for (const token of header.split(" ")) {
    if (!signaturePattern.test(token)) {
      throw malformed("expected signatures such as v1,<base64>, with one space between them");
    }
    if (token.startsWith("v1,")) signatures.push(token.slice(3));
  }
  return signatures;
}

function required(headers: WebhookHeaders, name: string): string {
  const value = findHeader(headers, name);
  if (value === undefined) throw new WebhookRejectedError("HEADER_MISSING", `${name}: header missing`);
  return value;
}

/**
 * The value of one header, of any form of headers.
 *
 * @throws {WebhookRejectedError} HEADER_REPEATED
 */
export function findHeader(headers: WebhookHeaders, name: string): string | undefined {
  const lowered = name.toLowerCase();
  if (hasGet(headers)) return headers.get(lowered) ?? undefined;
  const isFlat = Array.isArray(headers);
  const names: readonly unknown[] = isFlat ? headers : Object.keys(headers ?? {});
  let found: string | undefined;
  for (let at = 0; at < names.length; at += isFlat ? 2 : 1) {
    const given = names[at];
    // Most headers are skipped by their length, without a lower-case copy.
    if (typeof given !== "string" || given.length !== lowered.length) continue;
    if (given !== lowered && given.toLowerCase() !== lowered) continue;
    const sent: unknown = isFlat ? headers[at + 1] : (headers as Readonly<Record<string, unknown>>)[given];
    for (const value of Array.isArray(sent) ? sent : [sent]) {
      if (typeof value !== "string") continue;
      if (found !== undefined) {
        throw new WebhookRejectedError("HEADER_REPEATED", `${lowered}: expected one header, got several`);
      }
      found = value;
    }
  }
  return found;
}

function hasGet(headers: WebhookHeaders): headers is { get(name: string): string | null } {
  return typeof headers === "object" && typeof (headers as { get?: unknown } | null)?.get === "function";
}
