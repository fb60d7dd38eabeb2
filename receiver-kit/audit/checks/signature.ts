import type { Signing } from "../target/signing.ts";
import type { CheckTable } from "./check.ts";
import { type Change, each, mustAcknowledge, mustReject, shouldReject } from "./probe-check.ts";

const rawBytes =
  "Compute the HMAC over the raw bytes of the request body, before anything decodes, parses or trims them.";

/** Rewrites the encoded bytes of the correct signature. */
const rewritten =
  (rewrite: (encoded: string, encoding: Signing["encoding"]) => string): Change =>
  ({ signature }, { signing: { prefix, encoding } }) => ({
    signature: prefix + rewrite(signature.slice(prefix.length), encoding),
  });

/** Alters the body after it was signed, as one character per byte. */
const altered =
  (alter: (text: string) => string): Change =>
  ({ body }) => ({ body: Buffer.from(alter(body.toString("latin1")), "latin1") });

/** Signs a payload in one form and sends it in the other. */
const reserialised =
  (signedIndent: number, sentIndent: number): Change =>
  (_, { samples, compose }) => {
    const payload = samples.task();
    const written = (indent: number) => Buffer.from(JSON.stringify(payload, null, indent));
    return { ...compose({ body: written(signedIndent) }), body: written(sentIndent) };
  };

export const signatureChecks: CheckTable = {
  "signature.forged": mustReject({
    title: "rejects a delivery signed with an unknown key",
    sent: "a well-formed delivery whose signature was made with a random key",
    fix: "Compare the signature of the request with one computed from the endpoint's own secret.",
    change: (_, { forge }) => forge(),
  }),
  "signature.missing": mustReject({
    title: "rejects a delivery without a signature",
    sent: "a delivery without the signature header",
    fix: "Reject a request without the signature header, with 400 or 401, before reading its body.",
    change: () => ({ without: ["signature"] }),
  }),
  "signature.empty": mustReject({
    title: "rejects an empty signature",
    sent: "deliveries whose signature is nothing, only the version, or the version and its separator",
    fix: "A signature without bytes matches nothing; never compare only as many bytes as were sent.",
    change: {
      nothing: () => ({ signature: "" }),
      "the version": (_, { signing }) => ({ signature: signing.prefix.slice(0, -1) }),
      "the version and its separator": (_, { signing }) => ({ signature: signing.prefix }),
    },
  }),
  "signature.bit-flipped": mustReject({
    title: "rejects a signature with one wrong bit",
    sent: "a delivery whose signature differs from the correct one in its last bit",
    fix: "Compare all bytes of the signature, in constant time.",
    change: rewritten((encoded, encoding) => {
      const bytes = Buffer.from(encoded, encoding);
      bytes.writeUInt8(bytes.readUInt8(bytes.length - 1) ^ 1, bytes.length - 1);
      return bytes.toString(encoding);
    }),
  }),
  "signature.truncated": mustReject({
    title: "rejects the beginning of the correct signature",
    sent: "deliveries with the first 4 and the first half of the characters of the correct signature",
    fix: "Check that both signatures have the same length before comparing them.",
    change: {
      "4 characters": rewritten((encoded) => encoded.slice(0, 4)),
      "half of the characters": rewritten((encoded) => encoded.slice(0, Math.floor(encoded.length / 8) * 4)),
    },
  }),
  "signature.empty-key": mustReject({
    title: "rejects a delivery signed with an empty key",
    sent: "a delivery signed with a key of no bytes",
    fix: "Reject at start a secret that is empty or decodes to nothing: with it anyone can sign.",
    change: (delivery, { signing }) => ({ signature: signing.signWithKey(delivery, Buffer.alloc(0)) }),
  }),
  "signature.altered-byte": mustReject({
    title: "rejects a body with one byte altered",
    sent: "a signed delivery in whose body one character was changed afterwards",
    fix: rawBytes,
    change: altered((text) => text.replace("audit-workspace", "Audit-workspace")),
  }),
  "signature.reserialised": mustReject({
    title: "rejects a body that was parsed and serialized again",
    sent: "a delivery signed over compact JSON, sent indented, and one signed over indented JSON, sent compact",
    fix: `${rawBytes} A body that is parsed and serialized again for the HMAC has one signature for many spellings.`,
    change: { "sent indented": reserialised(0, 2), "sent compact": reserialised(2, 0) },
  }),
  "signature.replacement-character": shouldReject({
    title: "rejects a byte that is not UTF-8 in place of a signed replacement character",
    sent: "a body signed with U+FFFD in it, sent with the single byte 0xFF there instead",
    fix: `${rawBytes} A body decoded to text first turns every invalid byte into U+FFFD, so different bodies share one signature.`,
    change(_, target) {
      const delivery = target.compose({ payload: target.samples.task({ errorMessage: "\uFFFD" }) });
      const replaced = altered((text) => text.replace("\u00ef\u00bf\u00bd", "\u00ff"));
      return { ...delivery, ...replaced(delivery, target) };
    },
  }),
  "signature.byte-order-mark-added": mustReject({
    title: "rejects a byte order mark added after signing",
    sent: "a signed delivery with the bytes EF BB BF put in front of its body",
    fix: `${rawBytes} A text decoder drops a byte order mark silently.`,
    change: altered((text) => `\u00ef\u00bb\u00bf${text}`),
  }),
  "signature.newline-added": mustReject({
    title: "rejects a newline added after signing",
    sent: "a signed delivery with one newline added to its body",
    fix: rawBytes,
    change: altered((text) => `${text}\n`),
  }),
  "signature.other-id": mustReject({
    title: "rejects a delivery under another id than the signed one",
    sent: "a signed delivery whose webhook-id was replaced afterwards",
    fix: "Sign `id.timestamp.body` with the id of the request; otherwise a captured delivery passes as a new one.",
    change: (_, { nextId }) => ({ id: nextId() }),
  }),
  "signature.other-timestamp": mustReject({
    title: "rejects a delivery under another timestamp than the signed one",
    sent: "a delivery signed five seconds ago whose webhook-timestamp was replaced by the current one",
    fix: "Sign `id.timestamp.body` with the timestamp of the request; otherwise old deliveries can be made to look new.",
    change: ({ timestamp }, { compose }) => ({ ...compose({ ageSeconds: 5 }), timestamp }),
  }),
  "signature.unknown-version": mustReject({
    title: "rejects the correct bytes under a version that is not v1",
    sent: "deliveries whose correct signature is labelled v2, v1a, V1, or not at all",
    fix: "Accept only tokens that begin with exactly `v1,`; ignore all others.",
    change: each(
      ["v2,", "v1a,", "V1,", ""],
      (version) =>
        (delivery, { signing }) => ({
          signature: version + delivery.signature.slice(signing.prefix.length),
        }),
      JSON.stringify,
    ),
  }),
  "signature.other-spelling": shouldReject({
    title: "rejects the correct signature in another encoding",
    sent: "deliveries whose correct signature is written as hex, as base64url, without padding, and with unused bits set",
    fix: "Accept only canonical base64 of 32 bytes, so that one delivery has one valid form.",
    change: {
      hex: rewritten((encoded) => Buffer.from(encoded, "base64").toString("hex")),
      base64url: rewritten((encoded) => Buffer.from(encoded, "base64").toString("base64url")),
      unpadded: rewritten((encoded) => encoded.replace(/=+$/, "")),
      // The last of 43 characters has two unused bits: with one of them set, it is its neighbour in ASCII.
      "unused bits set": rewritten(
        (encoded) =>
          `${encoded.slice(0, -2)}${String.fromCharCode(encoded.charCodeAt(encoded.length - 2) + 1)}=`,
      ),
    },
  }),
  "signature.trailing-junk": shouldReject({
    title: "rejects a correct signature with extra text",
    sent: "a delivery with webhook-signature `v1,<correct>,junk`",
    fix: "Match the whole token (`^v1,[A-Za-z0-9+/]+=*$`) instead of splitting it at commas.",
    change: rewritten((encoded) => `${encoded},junk`),
  }),
  "signature.exact-bytes": mustAcknowledge({
    title: "accepts a body exactly as it was signed, with any white space",
    sent: "a signed delivery of indented JSON with escapes, a line break as CR LF, and one at the end",
    fix: `${rawBytes} This one fails when the parsed body is serialized again for the HMAC.`,
    change(_, { samples, compose }) {
      const text = JSON.stringify(samples.task({ errorMessage: "a/b" }), null, 3);
      return compose({ body: `${text.replaceAll("\n", "\r\n").replace("a/b", "a\\/\\u0062")}\r\n` });
    },
  }),
  "signature.non-ascii": mustAcknowledge({
    title: "accepts a signed body with characters outside ASCII",
    sent: "a signed delivery with accents, Chinese, an emoji and U+FFFD in its text",
    fix: `${rawBytes} This one fails when the body is read as latin1 or its length is counted in characters.`,
    change: (_, { samples, compose }) =>
      compose({ payload: samples.task({ errorMessage: "é 税 🧾 \uFFFD" }) }),
  }),
};
