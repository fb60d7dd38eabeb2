import type { Delivery, Signing } from "../target/signing.ts";
import type { CheckTable } from "./check.ts";
import { labelled, mustAcknowledge, mustReject, shouldReject } from "./probe-check.ts";

const rawBytes =
  "Compute the HMAC over the raw bytes of the request body, before anything decodes, parses or trims them.";

const base64Alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/** The encoded bytes of a signature, without the prefix. */
const encoded = ({ prefix }: Signing, { signature }: Delivery) => signature.slice(prefix.length);

/** The delivery with another body under its original signature. */
const withBody = (delivery: Delivery, body: Buffer): Delivery => ({ ...delivery, body });

export const signatureChecks: CheckTable = {
  "signature.forged": mustReject({
    title: "rejects a delivery signed with an unknown key",
    sent: "a well-formed delivery whose signature was made with a random key",
    fix: "Compare the signature of the request with one computed from the endpoint's own secret.",
    probes: (target) => target.forge(),
  }),
  "signature.missing": mustReject({
    title: "rejects a delivery without a signature",
    sent: "a delivery without the signature header",
    fix: "Reject a request without the signature header, with 400 or 401, before reading its body.",
    probes({ signing, compose }) {
      const delivery = compose();
      const headers = signing.headers(delivery).filter(([name]) => name !== signing.headerNames.signature);
      return { delivery, options: { headers } };
    },
  }),
  "signature.empty": mustReject({
    title: "rejects an empty signature",
    sent: "deliveries whose signature is nothing, only the version, or the version and its separator",
    fix: "A signature without bytes matches nothing; never compare only as many bytes as were sent.",
    probes: ({ signing: { prefix }, compose }) =>
      ["", prefix.slice(0, -1), prefix].map((signature) => ({
        label: JSON.stringify(signature),
        delivery: { ...compose(), signature },
      })),
  }),
  "signature.bit-flipped": mustReject({
    title: "rejects a signature with one wrong bit",
    sent: "a delivery whose signature differs from the correct one in its last bit",
    fix: "Compare all bytes of the signature, in constant time.",
    probes({ signing, compose }) {
      const delivery = compose();
      const bytes = Buffer.from(encoded(signing, delivery), signing.encoding);
      bytes.writeUInt8(bytes.readUInt8(bytes.length - 1) ^ 1, bytes.length - 1);
      return { ...delivery, signature: signing.prefix + bytes.toString(signing.encoding) };
    },
  }),
  "signature.truncated": mustReject({
    title: "rejects the beginning of the correct signature",
    sent: "deliveries with the first 4 and the first half of the characters of the correct signature",
    fix: "Check that both signatures have the same length before comparing them.",
    probes({ signing, compose }) {
      const half = Math.floor(encoded(signing, compose()).length / 8) * 4;
      return [4, half].map((characters) => {
        const delivery = compose();
        const signature = signing.prefix + encoded(signing, delivery).slice(0, characters);
        return { label: `${characters} characters`, delivery: { ...delivery, signature } };
      });
    },
  }),
  "signature.empty-key": mustReject({
    title: "rejects a delivery signed with an empty key",
    sent: "a delivery signed with a key of no bytes",
    fix: "Reject at start a secret that is empty or decodes to nothing: with it anyone can sign.",
    probes({ signing, compose }) {
      const delivery = compose();
      return { ...delivery, signature: signing.signWithKey(delivery, Buffer.alloc(0)) };
    },
  }),
  "signature.altered-byte": mustReject({
    title: "rejects a body with one byte altered",
    sent: "a signed delivery in whose body one character was changed afterwards",
    fix: rawBytes,
    probes({ compose }) {
      const delivery = compose();
      const text = delivery.body.toString("latin1").replace("audit-workspace", "Audit-workspace");
      return withBody(delivery, Buffer.from(text));
    },
  }),
  "signature.reserialised": mustReject({
    title: "rejects a body that was parsed and serialized again",
    sent: "a delivery signed over compact JSON, sent indented, and one signed over indented JSON, sent compact",
    fix: `${rawBytes} A body that is parsed and serialized again for the HMAC has one signature for many spellings.`,
    probes({ samples, compose }) {
      const payload = samples.task();
      const compact = compose({ payload });
      const indented = compose({ body: JSON.stringify(payload, null, 2) });
      return [
        { label: "sent indented", delivery: withBody(compact, indented.body) },
        { label: "sent compact", delivery: withBody(indented, compact.body) },
      ];
    },
  }),
  "signature.replacement-character": mustReject({
    title: "rejects a byte that is not UTF-8 in place of a signed replacement character",
    sent: "a body signed with U+FFFD in it, sent with the single byte 0xFF there instead",
    fix: `${rawBytes} A body decoded to text first turns every invalid byte into U+FFFD, so different bodies share one signature.`,
    probes({ samples, compose }) {
      const delivery = compose({ payload: samples.task({ errorMessage: "\uFFFD" }) });
      const text = delivery.body.toString("latin1").replace("\u00ef\u00bf\u00bd", "\u00ff");
      return withBody(delivery, Buffer.from(text, "latin1"));
    },
  }),
  "signature.byte-order-mark-added": mustReject({
    title: "rejects a byte order mark added after signing",
    sent: "a signed delivery with the bytes EF BB BF put in front of its body",
    fix: `${rawBytes} A text decoder drops a byte order mark silently.`,
    probes({ compose }) {
      const delivery = compose();
      return withBody(delivery, Buffer.concat([Buffer.from("\uFEFF"), delivery.body]));
    },
  }),
  "signature.newline-added": mustReject({
    title: "rejects a newline added after signing",
    sent: "a signed delivery with one newline added to its body",
    fix: rawBytes,
    probes({ compose }) {
      const delivery = compose();
      return withBody(delivery, Buffer.concat([delivery.body, Buffer.from("\n")]));
    },
  }),
  "signature.other-id": mustReject({
    title: "rejects a delivery under another id than the signed one",
    sent: "a signed delivery whose webhook-id was replaced afterwards",
    fix: "Sign `id.timestamp.body` with the id of the request; otherwise a captured delivery passes as a new one.",
    probes: ({ nextId, compose }) => ({ ...compose(), id: nextId() }),
  }),
  "signature.other-timestamp": mustReject({
    title: "rejects a delivery under another timestamp than the signed one",
    sent: "a delivery signed five seconds ago whose webhook-timestamp was replaced by the current one",
    fix: "Sign `id.timestamp.body` with the timestamp of the request; otherwise old deliveries can be made to look new.",
    probes: ({ compose }) => ({ ...compose({ ageSeconds: 5 }), timestamp: compose().timestamp }),
  }),
  "signature.unknown-version": mustReject({
    title: "rejects the correct bytes under a version that is not v1",
    sent: "deliveries whose correct signature is labelled v2, v1a, V1, or not at all",
    fix: "Accept only tokens that begin with exactly `v1,`; ignore all others.",
    probes: ({ signing, compose }) =>
      ["v2,", "v1a,", "V1,", ""].map((version) => {
        const delivery = compose();
        const signature = version + encoded(signing, delivery);
        return { label: JSON.stringify(version), delivery: { ...delivery, signature } };
      }),
  }),
  "signature.other-spelling": shouldReject({
    title: "rejects the correct signature in another encoding",
    sent: "deliveries whose correct signature is written as hex, as base64url, without padding, and with unused bits set",
    fix: "Accept only canonical base64 of 32 bytes, so that one delivery has one valid form.",
    probes({ signing, compose }) {
      const spellings = {
        hex: (correct: string) => Buffer.from(correct, "base64").toString("hex"),
        base64url: (correct: string) => Buffer.from(correct, "base64").toString("base64url"),
        unpadded: (correct: string) => correct.replace(/=+$/, ""),
        "unused bits set": (correct: string) => {
          const last = base64Alphabet.indexOf(correct.at(-2) ?? "");
          return `${correct.slice(0, -2)}${base64Alphabet[last ^ 1]}=`;
        },
      };
      return labelled(spellings, (spell) => {
        const delivery = compose();
        return { ...delivery, signature: `v1,${spell(encoded(signing, delivery))}` };
      });
    },
  }),
  "signature.trailing-junk": shouldReject({
    title: "rejects a correct signature with extra text",
    sent: "a delivery with webhook-signature `v1,<correct>,junk`",
    fix: "Match the whole token (`^v1,[A-Za-z0-9+/]+=*$`) instead of splitting it at commas.",
    probes({ compose }) {
      const delivery = compose();
      return { ...delivery, signature: `${delivery.signature},junk` };
    },
  }),
  "signature.exact-bytes": mustAcknowledge({
    title: "accepts a body exactly as it was signed, with any white space",
    sent: "a signed delivery of indented JSON with escapes, a line break as CR LF, and one at the end",
    fix: `${rawBytes} This one fails when the parsed body is serialized again for the HMAC.`,
    probes({ samples, compose }) {
      const text = JSON.stringify(samples.task({ errorMessage: "a/b" }), null, 3);
      return compose({ body: `${text.replaceAll("\n", "\r\n").replace("a/b", "a\\/\\u0062")}\r\n` });
    },
  }),
  "signature.non-ascii": mustAcknowledge({
    title: "accepts a signed body with characters outside ASCII",
    sent: "a signed delivery with accents, Chinese, an emoji and U+FFFD in its text",
    fix: `${rawBytes} This one fails when the body is read as latin1 or its length is counted in characters.`,
    probes: ({ samples, compose }) => compose({ payload: samples.task({ errorMessage: "é 税 🧾 \uFFFD" }) }),
  }),
};
