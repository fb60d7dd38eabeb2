import { formatDuration } from "@workspace-tasks/page-parts/text.ts";
import { hmac } from "fast-sha256";

// Explains why a signature does not verify. The usual mistakes are tried one after another (other forms of the body,
// the timestamp or the key), and the first one that makes the signature fit is named. Nothing leaves the page. The browser's
// own HMAC is absent over plain http from another host, where a page must explain signatures too.
export interface Secret {
  /** Its name on the page. */
  readonly label: string;
  readonly secret: string;
  /** `expired`: its grace period is over, or its endpoint does not sign with it any more. */
  readonly state: "current" | "grace" | "expired";
}

/** The parts of a delivery that its signature is about. */
export interface PastedRequest {
  readonly id: string;
  readonly timestamp: string;
  readonly signature: string;
  readonly body: string;
}

export interface SignatureInput extends PastedRequest {
  readonly secrets: readonly Secret[];
  readonly nowSeconds: number;
  /** This computer's time. Absent: it is not compared. */
  readonly realNowSeconds?: number | undefined;
  readonly toleranceSeconds: number;
  /** Attempts of the delivery with this id; empty or absent if the mock has none. */
  readonly sent?: readonly SentAttempt[];
}

export interface SecretCheck {
  readonly label: string;
  readonly state: Secret["state"];
  readonly fits: boolean;
}

export interface Diagnosis {
  readonly valid: boolean;
  /** The text that was signed, up to the body. */
  readonly signedPrefix: string;
  readonly bodyBytes: number;
  readonly checks: readonly SecretCheck[];
  readonly findings: readonly Finding[];
}

interface Variant<Value> {
  readonly value: Value;
  /** The mistake that explains it; `null` for the value itself. */
  readonly code: FindingCode | null;
}

/** What does not change with time. */
export interface SignatureMatch {
  readonly live: boolean;
  readonly checks: readonly SecretCheck[];
  readonly mismatches: readonly Finding[];
}

/** Which secrets fit, or why none does. Hashes the body many times: not for each tick of a clock. */
export function matchSecrets(input: SignatureInput): SignatureMatch {
  const offered = readSignatures(input.signature);
  const checks = input.secrets.map(({ label, state, secret }) => ({
    label,
    state,
    fits: offered.has(sign(keyOf(secret), input.id, input.timestamp, input.body)),
  }));
  const live = checks.some(({ fits, state }) => fits && state !== "expired");
  return { live, checks, mismatches: live ? [] : mismatchFindings(input, checks) };
}

export function diagnose(input: SignatureInput, match: SignatureMatch = matchSecrets(input)): Diagnosis {
  const { live, checks, mismatches } = match;
  const findings = [...shapeFindings(input), ...mismatches, ...ageFindings(input)];
  return {
    valid: live && findings.length === 0,
    signedPrefix: `${input.id}.${input.timestamp}.`,
    bodyBytes: utf8(input.body).length,
    checks,
    // The signature is right, and a receiver with its own clock rejects it all the same.
    findings: findings.some(({ code }) => code.startsWith("TIMESTAMP_TOO"))
      ? findings
      : [...findings, ...virtualTimeFindings(input)],
  };
}

function shapeFindings({ id, timestamp, signature }: SignatureInput): Finding[] {
  const codes: FindingCode[] = [];
  if (id.trim() === "") codes.push("ID_MISSING");
  if (signature.trim() === "") codes.push("SIGNATURE_MISSING");
  if (timestamp !== "" && !isSeconds(timestamp)) codes.push("TIMESTAMP_MALFORMED");
  return codes.map((code) => createFinding(code));
}

const isSeconds = (timestamp: string) => /^[0-9]{1,12}$/.test(timestamp);

function ageFindings({ timestamp, nowSeconds, toleranceSeconds }: SignatureInput): Finding[] {
  const ageSeconds = nowSeconds - Number(timestamp);
  if (!isSeconds(timestamp) || Math.abs(ageSeconds) <= toleranceSeconds) return [];
  const code = ageSeconds > 0 ? "TIMESTAMP_TOO_OLD" : "TIMESTAMP_TOO_NEW";
  return [createFinding(code, durations(Math.abs(ageSeconds), toleranceSeconds))];
}

function virtualTimeFindings({ timestamp, realNowSeconds, toleranceSeconds }: SignatureInput): Finding[] {
  if (realNowSeconds === undefined || !isSeconds(timestamp)) return [];
  const awaySeconds = Math.abs(realNowSeconds - Number(timestamp));
  if (awaySeconds <= toleranceSeconds) return [];
  return [createFinding("TIMESTAMP_VIRTUAL", durations(awaySeconds, toleranceSeconds))];
}

const durations = (awaySeconds: number, toleranceSeconds: number) => ({
  title: formatDuration(awaySeconds * 1_000),
  advice: formatDuration(toleranceSeconds * 1_000),
});

function mismatchFindings(input: SignatureInput, checks: readonly SecretCheck[]): Finding[] {
  const old = checks.find(({ fits }) => fits);
  if (old) return [createFinding("SECRET_EXPIRED", { title: old.label })];
  if (input.secrets.length === 0) return [createFinding("NO_SECRET")];
  const offered = readSignatures(input.signature);
  for (const signature of signatureVariants(input.signature)) offered.add(signature.value);
  for (const { secret } of input.secrets) {
    for (const attempt of attempts(input, secret)) {
      const digest = sign(attempt.key.value, input.id, attempt.timestamp.value, attempt.body.value);
      if (!offered.has(digest)) continue;
      const codes = [attempt.key, attempt.timestamp, attempt.body].flatMap(({ code }) => code ?? []);
      const format = signatureVariants(input.signature).find(({ value }) => value === digest)?.code ?? [];
      return (codes.length > 0 ? codes : [format].flat()).map((code) => createFinding(code));
    }
  }
  return [compareWithSent(input, input.sent ?? []) ?? createFinding("SECRET_OR_BODY_DIFFERS")];
}

/** Fewest deviations first, so that the simplest explanation is reported. */
function attempts(input: SignatureInput, secret: string) {
  const keys = keyVariants(secret);
  const timestamps = timestampVariants(input.timestamp);
  const bodies = bodyVariants(input.body);
  const all = keys.flatMap((key) =>
    timestamps.flatMap((timestamp) => bodies.map((body) => ({ key, timestamp, body }))),
  );
  const deviations = (attempt: (typeof all)[number]) =>
    Object.values(attempt).filter(({ code }) => code !== null).length;
  return all.sort((a, b) => deviations(a) - deviations(b));
}

function bodyVariants(body: string): Variant<string>[] {
  return variantsOf<string>(body, [
    [body.replace(/\r?\n$/, ""), "BODY_TRAILING_NEWLINE"],
    [`${body}\n`, "BODY_NEWLINE_LOST"],
    // Before white space in general, which includes the mark for `trim`.
    [body.replace(/^\uFEFF/, ""), "BODY_BYTE_ORDER_MARK"],
    [body.trim(), "BODY_WHITESPACE"],
    [body.replace(/\r\n/g, "\n"), "BODY_LINE_ENDS"],
    ...rewritten(body).map((text) => [text, "BODY_REWRITTEN"] as const),
  ]);
}

function rewritten(body: string): string[] {
  try {
    const value: unknown = JSON.parse(body);
    return [JSON.stringify(value), JSON.stringify(value, null, 2), JSON.stringify(value, null, 4)];
  } catch {
    return []; // Not JSON, so it was not rewritten as JSON.
  }
}

function timestampVariants(timestamp: string): Variant<string>[] {
  return variantsOf<string>(timestamp, [
    [/^[0-9]{13}$/.test(timestamp) ? timestamp.slice(0, 10) : timestamp, "TIMESTAMP_MILLISECONDS"],
    [timestamp.trim(), "TIMESTAMP_WHITESPACE"],
  ]);
}

function keyVariants(secret: string): Variant<Uint8Array>[] {
  const trimmed = secret.trim();
  const key = keyOf(secret);
  return variantsOf(key, [
    [trimmed === secret ? key : keyOf(trimmed), "SECRET_WHITESPACE"],
    [utf8(trimmed), "SECRET_PREFIX_LEFT_ON"],
    [utf8(trimmed.replace(/^whsec_/, "")), "SECRET_NOT_DECODED"],
  ]);
}

/** The value, and the other values that a mistake would explain. */
function variantsOf<Value>(
  value: Value,
  others: readonly (readonly [value: Value, code: FindingCode])[],
): Variant<Value>[] {
  const different = others.filter(([other]) => other !== value);
  return [{ value, code: null }, ...different.map(([other, code]) => ({ value: other, code }))];
}

function signatureVariants(header: string): Variant<string>[] {
  const bare = header
    .split(/[\s,]+/)
    .filter((part) => part !== "" && part !== "v1")
    .map((part) => part.replace(/^sha256=/, ""));
  return bare.map((text) => {
    if (!/^[0-9a-f]{64}$/i.test(text)) return { value: text, code: "SIGNATURE_LIST" };
    const bytes = Uint8Array.from(text.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
    return { value: base64(bytes), code: "SIGNATURE_HEX" };
  });
}

function readSignatures(header: string): Set<string> {
  return new Set(header.split(" ").flatMap((part) => (part.startsWith("v1,") ? [part.slice(3)] : [])));
}

function keyOf(secret: string): Uint8Array {
  const encoded = secret.replace(/^whsec_/, "");
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(encoded) || encoded.length % 4 === 1) return utf8(secret);
  return Uint8Array.from(atob(encoded), (character) => character.charCodeAt(0));
}

function sign(key: Uint8Array, id: string, timestamp: string, body: string): string {
  if (key.length === 0) return "";
  return base64(hmac(key, utf8(`${id}.${timestamp}.${body}`)));
}

const utf8 = (text: string) => new TextEncoder().encode(text);
const base64 = (bytes: Uint8Array) => btoa(String.fromCharCode(...bytes));

// The mock has what it sent of a delivery with a known id. When no usual mistake explains a signature, the received
// request is compared with that, header by header and byte by byte.

/** One attempt of a delivery as the mock sent it. */
export interface SentAttempt {
  readonly timestamp: string;
  readonly signature: string;
  readonly body: string;
  /** Faults that altered it. */
  readonly faults: readonly string[];
}

type ReceivedRequest = Pick<SentAttempt, "timestamp" | "signature" | "body">;

/** The difference that makes the signature wrong, or `undefined` without attempts of the mock. */
export function compareWithSent(
  received: ReceivedRequest,
  sent: readonly SentAttempt[],
): Finding | undefined {
  if (sent.length === 0) return undefined;
  const twin = sent.find(({ timestamp }) => timestamp === received.timestamp.trim());
  if (!twin) {
    return createFinding("TIMESTAMP_ALTERED", { advice: sent.map(({ timestamp }) => timestamp).join(", ") });
  }
  if (twin.body !== received.body) {
    return createFinding("BODY_ALTERED", { title: describeDifference(twin.body, received.body) });
  }
  if (twin.signature !== received.signature.trim()) {
    return createFinding("SIGNATURE_ALTERED", { advice: twin.signature });
  }
  if (twin.faults.length > 0) return createFinding("ALTERED_BY_FAULT", { title: twin.faults.join(", ") });
  return createFinding("SECRET_WRONG");
}

const contextCharacters = 12;

const endOf = (text: string) => (text === "" ? "an empty body" : "the end of the body");

/** Where two texts differ, in bytes, with an excerpt of both. */
function describeDifference(sent: string, received: string): string {
  let index = 0;
  while (index < Math.min(sent.length, received.length) && sent[index] === received[index]) index++;
  const byte = new TextEncoder().encode(sent.slice(0, index)).length;
  const excerpt = (text: string) =>
    index >= text.length ? endOf(text) : JSON.stringify(text.slice(index, index + contextCharacters));
  return `at byte ${byte} the mock sent ${excerpt(sent)}, received ${excerpt(received)}`;
}

/** One thing that is wrong with a delivery that does not verify. */
export interface Finding {
  readonly code: FindingCode;
  readonly title: string;
  /** What to do about it. */
  readonly advice: string;
}

const passOn = "Pass the header on unchanged.";
const rawBytes = "Verify the exact bytes that arrived, before anything parses or edits them.";

/** Title and advice by code; a finding replaces the `…` of either by a detail. */
const texts = {
  ID_MISSING: ["webhook-id is missing", passOn],
  SIGNATURE_MISSING: ["webhook-signature is missing", `${passOn} A proxy may have dropped it.`],
  TIMESTAMP_MALFORMED: [
    "webhook-timestamp is not plain digits of Unix seconds",
    "Compare the header with what the attempt sent.",
  ],
  TIMESTAMP_TOO_OLD: [
    "the attempt was signed … in the past by the mock's clock",
    "A receiver with a tolerance of … rejects it. Give the receiver the mock's clock, or check both clocks.",
  ],
  TIMESTAMP_TOO_NEW: [
    "the attempt was signed … in the future by the mock's clock",
    "A receiver with a tolerance of … rejects it. Give the receiver the mock's clock, or check both clocks.",
  ],
  TIMESTAMP_VIRTUAL: [
    "by this computer's clock the attempt was signed … away from now",
    "A receiver with its own clock and a tolerance of … rejects it. Give the receiver the mock's clock, or start the mock with a real one.",
  ],
  TIMESTAMP_MILLISECONDS: [
    "webhook-timestamp is in milliseconds",
    "The header has Unix seconds; pass it on unchanged.",
  ],
  TIMESTAMP_WHITESPACE: ["webhook-timestamp has white space around it", passOn],
  BODY_TRAILING_NEWLINE: ["the body has a trailing newline that was not signed", rawBytes],
  BODY_NEWLINE_LOST: ["the body lost its trailing newline", rawBytes],
  BODY_BYTE_ORDER_MARK: ["a byte order mark was put in front of the body", rawBytes],
  BODY_WHITESPACE: ["the body has white space around it that was not signed", rawBytes],
  BODY_LINE_ENDS: ["the line ends of the body were changed", rawBytes],
  BODY_REWRITTEN: [
    "the body was parsed and serialized again",
    "Mount the webhook route before any JSON body parser and verify the raw bytes.",
  ],
  SECRET_WHITESPACE: ["the secret has white space around it", "Trim it where it is stored."],
  SECRET_PREFIX_LEFT_ON: [
    "the whole secret was used as the key, prefix included",
    "Drop `whsec_`, then decode the rest from base64: those bytes are the key.",
  ],
  SECRET_NOT_DECODED: [
    "the secret was used as text, not decoded from base64",
    "Decode what follows `whsec_` from base64: those bytes are the key.",
  ],
  SECRET_EXPIRED: [
    "signed with …, whose grace period is over",
    "Take the current secret from the last rotation, or rotate with a longer grace period.",
  ],
  NO_SECRET: ["no secret to try", "Paste the endpoint's signing secret."],
  SIGNATURE_HEX: ["the signature is written in hex", "The scheme writes base64: `v1,<base64>`."],
  SIGNATURE_LIST: [
    "the list of signatures was cut apart or lost its `v1,`",
    "Split webhook-signature at spaces, then each part at its comma.",
  ],
  // Compared with the attempts of the mock.
  TIMESTAMP_ALTERED: [
    "no attempt of this delivery was signed at this timestamp",
    `The mock sent …. ${passOn}`,
  ],
  BODY_ALTERED: [
    "the body is not the one that was sent: …",
    "Something between the mock and the verification changes the body. Verify the bytes that arrive.",
  ],
  SIGNATURE_ALTERED: ["webhook-signature is not the one that was sent", `The mock sent …. ${passOn}`],
  ALTERED_BY_FAULT: ["a fault altered this attempt: …", "A receiver must reject it."],
  SECRET_WRONG: [
    "headers and body arrived as they were sent, so the secret is another one",
    "Take the secret of the endpoint that this delivery was sent to; it may have been rotated since.",
  ],
  SECRET_OR_BODY_DIFFERS: [
    "no usual mistake explains it, and the mock has sent no delivery of this id",
    "Either the secret belongs to another endpoint, or the body was changed. Compare the body with the bytes of the attempt.",
  ],
} as const;

export type FindingCode = keyof typeof texts;

export function createFinding(
  code: FindingCode,
  details: { readonly title?: string | number; readonly advice?: string | number } = {},
): Finding {
  const [title, advice] = texts[code];
  const fill = (text: string, detail: string | number = "") => text.replace("…", () => String(detail));
  return { code, title: fill(title, details.title), advice: fill(advice, details.advice) };
}

/**
 * Finds headers and body in whatever was copied: a raw HTTP request, a curl command, headers printed as an
 * object. The body is what follows the first empty line, or curl's `--data`. What is not found is empty.
 */
export function readPastedRequest(text: string): PastedRequest {
  const header = (name: string) =>
    new RegExp(`${name}["']?\\s*[:=]\\s*["'\`]?([^"'\`\\r\\n]*)`, "i").exec(text)?.[1]?.trim() ?? "";
  return {
    id: header("webhook-id"),
    timestamp: header("webhook-timestamp"),
    signature: header("webhook-signature"),
    body: bodyIn(text),
  };
}

function bodyIn(text: string): string {
  const quoted = /--data(?:-binary|-raw)?[ =]'((?:[^']|'\\'')*)'/.exec(text)?.[1];
  if (quoted !== undefined) return quoted.replaceAll(`'\\''`, "'");
  return /\r?\n\r?\n([\s\S]*)$/.exec(text)?.[1] ?? "";
}
