// Explains why a signature does not verify. The usual mistakes are tried one after another (other forms of the body,
// the timestamp or the key), and the first one that makes the signature fit is named. Nothing leaves the page. The browser's
// own HMAC is absent over plain http from another host, where a page must explain signatures too.

import { formatDuration } from "@workspace-tasks/page-parts/text.ts";
import { hmac } from "fast-sha256";
import { createFinding, type Finding, type FindingCode } from "./finding.ts";
import { compareWithSent, type SentAttempt } from "./sent-attempt.ts";

export interface Secret {
  /** Its name on the page. */
  readonly label: string;
  readonly secret: string;
  /** `expired`: its grace period is over, or its endpoint does not sign with it any more. */
  readonly state: "current" | "grace" | "expired";
}

export interface SignatureInput {
  readonly id: string;
  readonly timestamp: string;
  readonly signature: string;
  readonly body: string;
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
