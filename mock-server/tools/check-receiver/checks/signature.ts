import { signaturePrefix, signWithKey } from "../target/target.ts";
import * as probe from "./probe-check.ts";

const rawBytes =
  "Compute the HMAC over the raw bytes of the request body, before anything decodes, parses or trims them.";

/** Rewrites the base64 text of the correct signature. */
const rewritten =
  (rewrite: (encoded: string) => string): probe.Change =>
  ({ signature }) => ({ signature: signaturePrefix + rewrite(signature.slice(signaturePrefix.length)) });

/** Alters the body after it was signed, as one character per byte. */
const altered =
  (alter: (text: string) => string): probe.Change =>
  ({ body }) => ({ body: Buffer.from(alter(body.toString("latin1")), "latin1") });

/** Signs a payload in one form and sends it in the other. */
const reserialised =
  (signedIndent: number, sentIndent: number): probe.Change =>
  (_, { samples, compose }) => {
    const payload = samples.task();
    const written = (indent: number) => Buffer.from(JSON.stringify(payload, null, indent));
    return { ...compose({ body: written(signedIndent) }), body: written(sentIndent) };
  };

export const signatureChecks: probe.CheckTable = {
  "signature.forged": probe.mustReject({
    title: "rejects a delivery signed with an unknown key",
    sent: "a well-formed delivery whose signature was made with a random key",
    fix: "Compare the signature of the request with one computed from the endpoint's own secret.",
    change: (_, { forge }) => forge(),
  }),
  "signature.missing": probe.mustReject({
    title: "rejects a delivery without a signature",
    sent: "deliveries without the signature header, and with nothing, only the version, or the version and its separator in it",
    fix: "Reject a request without a signature, with 400 or 401, before reading its body; one without bytes matches nothing.",
    change: {
      absent: () => ({ without: ["signature"] }),
      ...probe.each(["", "v1", "v1,"], (signature) => () => ({ signature }), JSON.stringify),
    },
  }),
  "signature.almost-right": probe.mustReject({
    title: "rejects a signature that is almost the correct one",
    sent: "deliveries whose signature differs from the correct one in its last bit, or is its first 4 characters or its first half",
    fix: "Check that both signatures have the same length, then compare all their bytes in constant time.",
    change: {
      "one wrong bit": rewritten((encoded) => {
        const bytes = Buffer.from(encoded, "base64");
        bytes.writeUInt8(bytes.readUInt8(bytes.length - 1) ^ 1, bytes.length - 1);
        return bytes.toString("base64");
      }),
      "4 characters": rewritten((encoded) => encoded.slice(0, 4)),
      "half of the characters": rewritten((encoded) => encoded.slice(0, 20)),
    },
  }),
  "signature.empty-key": probe.mustReject({
    title: "rejects a delivery signed with an empty key",
    sent: "a delivery signed with a key of no bytes",
    fix: "Reject at start a secret that is empty or decodes to nothing: with it anyone can sign.",
    change: (delivery) => ({ signature: signWithKey(delivery, Buffer.alloc(0)) }),
  }),
  "signature.altered-body": probe.mustReject({
    title: "rejects a body that was altered after signing",
    sent: "signed deliveries in whose bodies one character was changed, or to which a newline or the bytes EF BB BF were added",
    fix: `${rawBytes} A text decoder drops a byte order mark silently.`,
    change: {
      "one character": altered((text) => text.replace("audit-workspace", "Audit-workspace")),
      newline: altered((text) => `${text}\n`),
      "byte order mark": altered((text) => `\u00ef\u00bb\u00bf${text}`),
    },
  }),
  "signature.reserialised": probe.mustReject({
    title: "rejects a body that was parsed and serialized again",
    sent: "a delivery signed over compact JSON, sent indented, and one signed over indented JSON, sent compact",
    fix: `${rawBytes} A body that is parsed and serialized again for the HMAC has one signature for many spellings.`,
    change: { "sent indented": reserialised(0, 2), "sent compact": reserialised(2, 0) },
  }),
  "signature.replacement-character": probe.shouldReject({
    title: "rejects a byte that is not UTF-8 in place of a signed replacement character",
    sent: "a body signed with U+FFFD in it, sent with the single byte 0xFF there instead",
    fix: `${rawBytes} A body decoded to text first turns every invalid byte into U+FFFD, so different bodies share one signature.`,
    change(_, target) {
      const delivery = target.compose({ payload: target.samples.task({ errorMessage: "\uFFFD" }) });
      const replaced = altered((text) => text.replace("\u00ef\u00bf\u00bd", "\u00ff"));
      return { ...delivery, ...replaced(delivery, target) };
    },
  }),
  "signature.other-headers": probe.mustReject({
    title: "rejects a delivery under another id or timestamp than the signed one",
    sent: "a signed delivery whose webhook-id was replaced, and one signed five seconds ago with the current webhook-timestamp",
    fix: "Sign `id.timestamp.body` with the id and the timestamp of the request; otherwise a captured delivery passes as a new one.",
    change: {
      id: (_, { nextId }) => ({ id: nextId() }),
      timestamp: ({ timestamp }, { compose }) => ({ ...compose({ ageSeconds: 5 }), timestamp }),
    },
  }),
  "signature.unknown-version": probe.mustReject({
    title: "rejects the correct bytes under a version that is not v1",
    sent: "deliveries whose correct signature is labelled v2, v1a, V1, or not at all",
    fix: "Accept only tokens that begin with exactly `v1,`; ignore all others.",
    change: probe.each(
      ["v2,", "v1a,", "V1,", ""],
      (version) => (delivery) => ({ signature: version + delivery.signature.slice(signaturePrefix.length) }),
      JSON.stringify,
    ),
  }),
  "signature.other-spelling": probe.shouldReject({
    title: "rejects the correct signature in another spelling",
    sent: "deliveries whose correct signature is hex or base64url, has no padding, unused bits set, or `,junk` behind it",
    fix: "Match the whole token (`^v1,[A-Za-z0-9+/]+=*$`) and accept only canonical base64 of 32 bytes, so that one delivery has one valid form.",
    change: {
      hex: rewritten((encoded) => Buffer.from(encoded, "base64").toString("hex")),
      base64url: rewritten((encoded) => Buffer.from(encoded, "base64").toString("base64url")),
      unpadded: rewritten((encoded) => encoded.replace(/=+$/, "")),
      // The last of 43 characters has two unused bits: with one of them set, it is its neighbour in ASCII.
      "unused bits set": rewritten(
        (encoded) =>
          `${encoded.slice(0, -2)}${String.fromCharCode(encoded.charCodeAt(encoded.length - 2) + 1)}=`,
      ),
      "extra text": rewritten((encoded) => `${encoded},junk`),
    },
  }),
  "signature.exact-bytes": probe.mustAcknowledge({
    title: "accepts a body exactly as it was signed, with any white space and any characters",
    sent: "signed deliveries of indented JSON with escapes and line breaks as CR LF, and with accents, Chinese, an emoji and U+FFFD",
    fix: `${rawBytes} It fails when the parsed body is serialized again for the HMAC, read as latin1, or its length is counted in characters.`,
    change: {
      "white space": (_, { samples, compose }) => {
        const text = JSON.stringify(samples.task({ errorMessage: "a/b" }), null, 3);
        return compose({ body: `${text.replaceAll("\n", "\r\n").replace("a/b", "a\\/\\u0062")}\r\n` });
      },
      "outside ASCII": (_, { samples, compose }) =>
        compose({ payload: samples.task({ errorMessage: "é 税 🧾 \uFFFD" }) }),
    },
  }),
};

const digitsOnly =
  "Check the header's text against `^[1-9][0-9]{0,11}$` before converting it to a number; lenient number parsers accept far more.";

/** Sends a delivery signed this long ago, in tolerances and seconds. */
const aged =
  (tolerances: -1 | 1, moreSeconds: number): probe.Change =>
  (_, { compose, toleranceSeconds }) =>
    compose({ ageSeconds: tolerances * Math.max(0, toleranceSeconds + moreSeconds) });

/**
 * The time in a malformed form, with two signatures: over the text of the header, and over the number that a lenient
 * parser makes of it. A receiver that uses either reading accepts it.
 */
const written =
  (write: (seconds: string) => string): probe.Change =>
  (delivery, { sign }) => {
    const timestamp = write(delivery.timestamp);
    const readings = [timestamp, String(Number.parseInt(timestamp, 10))];
    return {
      timestamp,
      signature: readings.map((reading) => sign({ ...delivery, timestamp: reading })).join(" "),
    };
  };

export const timestampChecks: probe.CheckTable = {
  "timestamp.stale": probe.mustReject({
    title: "rejects a delivery that is older than the tolerance",
    sent: "a correctly signed delivery, one minute older than the tolerance, like a replayed capture",
    fix: "Reject a webhook-timestamp that lies more than the tolerance (300 s is customary) in the past.",
    change: aged(1, 60),
  }),
  "timestamp.future": probe.mustReject({
    title: "rejects a delivery from the future",
    sent: "a correctly signed delivery, one minute further in the future than the tolerance",
    fix: "Apply the tolerance in both directions: a delivery dated ahead stays replayable until then.",
    change: aged(-1, 60),
  }),
  "timestamp.within-tolerance": probe.shouldAcknowledge({
    title: "accepts a delivery within the tolerance on either side",
    sent: "deliveries 30 s short of the tolerance in the past and in the future",
    fix: "Allow for different clocks and slow networks: 300 s in each direction is customary. Keep the clock synchronized.",
    change: { past: aged(1, -30), future: aged(-1, -30) },
  }),
  "timestamp.missing": probe.mustReject({
    title: "rejects a delivery without a timestamp",
    sent: "a delivery without webhook-timestamp, and one where it is empty, signed over nothing in its place",
    fix: "Reject a request that lacks any of the three headers with 400.",
    change: probe.missingHeader("timestamp"),
  }),
  "timestamp.malformed": probe.shouldReject({
    title: "rejects a timestamp that is not whole seconds in plain digits",
    sent: "the current second with something before or behind its digits, in milliseconds, as a date and in other notations, and no number",
    fix: `${digitsOnly} Guessing the unit from the size widens the tolerance, and a comparison with NaN is always false.`,
    change: {
      "trailing letter": written((seconds) => `${seconds}x`),
      "trailing digit": written((seconds) => `${seconds} 0`),
      // HTTP drops a plain space.
      "no-break space": written((seconds) => `\u00a0${seconds}`),
      "plus sign": written((seconds) => `+${seconds}`),
      "minus sign": written((seconds) => `-${seconds}`),
      "leading zeros": written((seconds) => `00${seconds}`),
      milliseconds: written((seconds) => `${seconds}000`),
      "ISO 8601": written((seconds) => new Date(Number(seconds) * 1000).toISOString()),
      fraction: written((seconds) => `${seconds}.0`),
      exponent: written((seconds) => `${seconds}e0`),
      hexadecimal: written((seconds) => `0x${Number(seconds).toString(16)}`),
      ...probe.each(["abc", "NaN", "Infinity", "9".repeat(20)], (text) => written(() => text)),
    },
  }),
};
