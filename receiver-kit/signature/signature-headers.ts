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

const headerNames = ["webhook-id", "webhook-timestamp", "webhook-signature"] as const;
type HeaderName = (typeof headerNames)[number];
type HeaderValues = Partial<Record<HeaderName, string>>;

const signatureHeaderCharsMax = 4096;
const signaturesMax = 16;

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
  const values = findHeaders(headers);
  const id = present(values, "webhook-id");
  const timestamp = present(values, "webhook-timestamp");
  const signature = present(values, "webhook-signature");
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
  const tokens = header.split(" ");
  if (tokens.length > signaturesMax) {
    throw malformed(`expected at most ${signaturesMax} signatures, got ${tokens.length}`);
  }
  const signatures: string[] = [];
  for (const token of tokens) {
    if (!signaturePattern.test(token)) {
      throw malformed("expected signatures such as v1,<base64>, with one space between them");
    }
    if (token.startsWith("v1,")) signatures.push(token.slice(3));
  }
  return signatures;
}

function present(values: HeaderValues, name: HeaderName): string {
  const value = values[name];
  if (value === undefined) throw new WebhookRejectedError("HEADER_MISSING", `${name}: header missing`);
  return value;
}

function findHeaders(headers: WebhookHeaders): HeaderValues {
  const values: HeaderValues = {};
  if (Array.isArray(headers)) {
    for (let i = 0; i + 1 < headers.length; i += 2) collect(values, headers[i], headers[i + 1]);
  } else if (hasGet(headers)) {
    for (const name of headerNames) collect(values, name, headers.get(name) ?? undefined);
  } else if (typeof headers === "object" && headers !== null) {
    for (const [name, value] of Object.entries(headers)) collectEach(values, name, value);
  }
  return values;
}

function collectEach(values: HeaderValues, name: string, value: unknown): void {
  if (Array.isArray(value)) for (const one of value) collect(values, name, one);
  else collect(values, name, value);
}

function collect(values: HeaderValues, givenName: unknown, value: unknown): void {
  if (typeof givenName !== "string" || value === undefined) return;
  // Most headers are skipped by their length, without a lower-case copy.
  if (givenName.length !== 10 && givenName.length !== 17) return;
  const lowered = givenName.toLowerCase();
  const name = headerNames.find((known) => known === lowered);
  if (!name) return;
  if (values[name] !== undefined) {
    throw new WebhookRejectedError("HEADER_REPEATED", `${name}: expected one header, got several`);
  }
  values[name] = typeof value === "string" ? value : "";
}

/**
 * The value of one header, of any form of headers.
 *
 * @throws {WebhookRejectedError} HEADER_REPEATED
 */
export function findHeader(headers: WebhookHeaders, name: string): string | undefined {
  const lowered = name.toLowerCase();
  if (hasGet(headers)) return headers.get(lowered) ?? undefined;
  let found: string | undefined;
  const add = (givenName: unknown, value: unknown) => {
    if (typeof givenName !== "string" || typeof value !== "string") return;
    if (givenName.length !== lowered.length || givenName.toLowerCase() !== lowered) return;
    if (found !== undefined) {
      throw new WebhookRejectedError("HEADER_REPEATED", `${lowered}: expected one header, got several`);
    }
    found = value;
  };
  if (Array.isArray(headers)) {
    for (let i = 0; i + 1 < headers.length; i += 2) add(headers[i], headers[i + 1]);
  } else {
    for (const [givenName, value] of Object.entries(headers)) {
      for (const one of Array.isArray(value) ? value : [value]) add(givenName, one);
    }
  }
  return found;
}

function hasGet(headers: WebhookHeaders): headers is { get(name: string): string | null } {
  return typeof headers === "object" && typeof (headers as { get?: unknown } | null)?.get === "function";
}
