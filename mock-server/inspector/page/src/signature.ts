// Explains why a signature does not verify. The usual mistakes are tried one after another (other forms of the body,
// the timestamp or the key), and the first one that makes the signature fit is named. Nothing leaves the page: the
// browser computes the digests.

import type { Finding } from "./finding.ts";
import { compareWithSent, type SentAttempt } from "./sent-attempt.ts";

export type Secret = {
  /** Its name on the page. */
  readonly label: string;
  readonly secret: string;
  /** `expired`: its grace period is over, or its endpoint does not sign with it any more. */
  readonly state: "current" | "grace" | "expired";
};

export type SignatureInput = {
  readonly id: string;
  readonly timestamp: string;
  readonly signature: string;
  readonly body: string;
  readonly secrets: readonly Secret[];
  readonly nowSeconds: number;
  readonly toleranceSeconds: number;
  /** Attempts of the delivery with this id; empty or absent if the mock has none. */
  readonly sent?: readonly SentAttempt[];
};

export type SecretCheck = { readonly label: string; readonly state: Secret["state"]; readonly fits: boolean };

export type Diagnosis = {
  readonly valid: boolean;
  /** The text that was signed, up to the body. */
  readonly signedPrefix: string;
  readonly bodyBytes: number;
  readonly checks: readonly SecretCheck[];
  readonly findings: readonly Finding[];
};

type Variant<Value> = { readonly value: Value; readonly finding: Finding | null };

export async function diagnose(input: SignatureInput): Promise<Diagnosis> {
  const offered = readSignatures(input.signature);
  const checks = await Promise.all(
    input.secrets.map(async ({ label, state, secret }) => ({
      label,
      state,
      fits: offered.has(await sign(keyOf(secret), input.id, input.timestamp, input.body)),
    })),
  );
  const live = checks.some(({ fits, state }) => fits && state !== "expired");
  const findings = [
    ...shapeFindings(input),
    ...(live ? [] : await mismatchFindings(input, checks)),
    ...ageFindings(input),
  ];
  return {
    valid: live && findings.length === 0,
    signedPrefix: `${input.id}.${input.timestamp}.`,
    bodyBytes: utf8(input.body).length,
    checks,
    findings,
  };
}

function shapeFindings({ id, timestamp, signature }: SignatureInput): Finding[] {
  const findings: Finding[] = [];
  if (id.trim() === "")
    findings.push({
      code: "ID_MISSING",
      title: "webhook-id is missing",
      advice: "Pass the header on unchanged.",
    });
  if (signature.trim() === "") {
    findings.push({
      code: "SIGNATURE_MISSING",
      title: "webhook-signature is missing",
      advice: "Pass the header on unchanged; a proxy may have dropped it.",
    });
  }
  if (timestamp !== "" && !/^[0-9]{1,12}$/.test(timestamp)) {
    findings.push({
      code: "TIMESTAMP_MALFORMED",
      title: "webhook-timestamp is not plain digits of Unix seconds",
      advice: "Compare the header with what the attempt sent.",
    });
  }
  return findings;
}

function ageFindings({ timestamp, nowSeconds, toleranceSeconds }: SignatureInput): Finding[] {
  const seconds = Number(timestamp);
  if (!/^[0-9]{1,12}$/.test(timestamp)) return [];
  const ageSeconds = nowSeconds - seconds;
  if (Math.abs(ageSeconds) <= toleranceSeconds) return [];
  const where = ageSeconds > 0 ? `${ageSeconds} s in the past` : `${-ageSeconds} s in the future`;
  return [
    {
      code: ageSeconds > 0 ? "TIMESTAMP_TOO_OLD" : "TIMESTAMP_TOO_NEW",
      title: `the attempt was signed ${where} by the mock's clock`,
      advice: `A receiver with a tolerance of ${toleranceSeconds} s rejects it. Give the receiver the mock's clock, or check both clocks.`,
    },
  ];
}

async function mismatchFindings(input: SignatureInput, checks: readonly SecretCheck[]): Promise<Finding[]> {
  const old = checks.find(({ fits }) => fits);
  if (old) {
    return [
      {
        code: "SECRET_EXPIRED",
        title: `signed with ${old.label}, whose grace period is over`,
        advice: "Take the current secret from the last rotation, or rotate with a longer grace period.",
      },
    ];
  }
  if (input.secrets.length === 0) {
    return [{ code: "NO_SECRET", title: "no secret to try", advice: "Paste the endpoint's signing secret." }];
  }
  const offered = readSignatures(input.signature);
  for (const signature of signatureVariants(input.signature)) offered.add(signature.value);
  for (const { secret } of input.secrets) {
    for (const attempt of attempts(input, secret)) {
      const digest = await sign(attempt.key.value, input.id, attempt.timestamp.value, attempt.body.value);
      if (!offered.has(digest)) continue;
      const named = [attempt.key, attempt.timestamp, attempt.body].flatMap(({ finding }) => finding ?? []);
      const spelled = signatureVariants(input.signature).find(({ value }) => value === digest)?.finding;
      return named.length > 0 ? named : spelled ? [spelled] : [];
    }
  }
  return [compareWithSent(input, input.sent ?? []) ?? unexplained];
}

const unexplained: Finding = {
  code: "SECRET_OR_BODY_DIFFERS",
  title: "no usual mistake explains it, and the mock has sent no delivery of this id",
  advice:
    "Either the secret belongs to another endpoint, or the body was changed on the way. Compare the body with the bytes of the attempt.",
};

/** Fewest deviations first, so that the simplest explanation is reported. */
function attempts(input: SignatureInput, secret: string) {
  const keys = keyVariants(secret);
  const timestamps = timestampVariants(input.timestamp);
  const bodies = bodyVariants(input.body);
  const all = keys.flatMap((key) =>
    timestamps.flatMap((timestamp) => bodies.map((body) => ({ key, timestamp, body }))),
  );
  const deviations = (attempt: (typeof all)[number]) =>
    Object.values(attempt).filter(({ finding }) => finding !== null).length;
  return all.sort((a, b) => deviations(a) - deviations(b));
}

function bodyVariants(body: string): Variant<string>[] {
  const variants: Variant<string>[] = [{ value: body, finding: null }];
  const add = (value: string | undefined, code: string, title: string, advice: string) => {
    if (value !== undefined && value !== body) variants.push({ value, finding: { code, title, advice } });
  };
  const rawBytes = "Verify the exact bytes that arrived, before anything parses or edits them.";
  add(
    body.replace(/\r?\n$/, ""),
    "BODY_TRAILING_NEWLINE",
    "the body has a trailing newline that was not signed",
    rawBytes,
  );
  add(`${body}\n`, "BODY_NEWLINE_LOST", "the body lost its trailing newline", rawBytes);
  // Before white space in general, which includes the mark for `trim`.
  add(
    body.replace(/^\uFEFF/, ""),
    "BODY_BYTE_ORDER_MARK",
    "a byte order mark was put in front of the body",
    rawBytes,
  );
  add(body.trim(), "BODY_WHITESPACE", "the body has white space around it that was not signed", rawBytes);
  add(body.replace(/\r\n/g, "\n"), "BODY_LINE_ENDS", "the line ends of the body were changed", rawBytes);
  const title = "the body was parsed and written again";
  const advice = "Mount the webhook route before any JSON body parser and verify the raw bytes.";
  for (const text of rewritten(body)) add(text, "BODY_REWRITTEN", title, advice);
  return variants;
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
  const variants: Variant<string>[] = [{ value: timestamp, finding: null }];
  if (/^[0-9]{13}$/.test(timestamp)) {
    variants.push({
      value: timestamp.slice(0, 10),
      finding: {
        code: "TIMESTAMP_MILLISECONDS",
        title: "webhook-timestamp is in milliseconds",
        advice: "The header has Unix seconds; pass it on unchanged.",
      },
    });
  }
  const trimmed = timestamp.trim();
  if (trimmed !== timestamp) {
    variants.push({
      value: trimmed,
      finding: {
        code: "TIMESTAMP_WHITESPACE",
        title: "webhook-timestamp has white space around it",
        advice: "Pass the header on unchanged.",
      },
    });
  }
  return variants;
}

function keyVariants(secret: string): Variant<Uint8Array>[] {
  const variants: Variant<Uint8Array>[] = [{ value: keyOf(secret), finding: null }];
  const add = (value: Uint8Array | undefined, code: string, title: string, advice: string) => {
    if (value) variants.push({ value, finding: { code, title, advice } });
  };
  const trimmed = secret.trim();
  if (trimmed !== secret) {
    add(
      keyOf(trimmed),
      "SECRET_WHITESPACE",
      "the secret has white space around it",
      "Trim it where it is stored.",
    );
  }
  add(
    utf8(trimmed),
    "SECRET_PREFIX_LEFT_ON",
    "the whole secret was used as the key, prefix included",
    "Drop `whsec_`, then decode the rest from base64: those bytes are the key.",
  );
  add(
    utf8(trimmed.replace(/^whsec_/, "")),
    "SECRET_NOT_DECODED",
    "the secret was used as text, not decoded from base64",
    "Decode what follows `whsec_` from base64: those bytes are the key.",
  );
  return variants;
}

function signatureVariants(header: string): Variant<string>[] {
  const bare = header
    .split(/[\s,]+/)
    .filter((part) => part !== "" && part !== "v1")
    .map((part) => part.replace(/^sha256=/, ""));
  return bare.map((text) => {
    const isHex = /^[0-9a-f]{64}$/i.test(text);
    return {
      value: isHex
        ? base64(Uint8Array.from(text.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16)))
        : text,
      finding: isHex
        ? {
            code: "SIGNATURE_HEX",
            title: "the signature is written in hex",
            advice: "The scheme writes base64: `v1,<base64>`.",
          }
        : {
            code: "SIGNATURE_LIST",
            title: "the list of signatures was cut apart or lost its `v1,`",
            advice: "Split webhook-signature at spaces, then each part at its comma.",
          },
    };
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

async function sign(key: Uint8Array, id: string, timestamp: string, body: string): Promise<string> {
  if (key.length === 0) return "";
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const imported = await crypto.subtle.importKey("raw", key.slice().buffer, algorithm, false, ["sign"]);
  const signed = utf8(`${id}.${timestamp}.${body}`);
  return base64(new Uint8Array(await crypto.subtle.sign("HMAC", imported, signed.slice().buffer)));
}

const utf8 = (text: string) => new TextEncoder().encode(text);
const base64 = (bytes: Uint8Array) => btoa(String.fromCharCode(...bytes));
