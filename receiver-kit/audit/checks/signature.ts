import type { Delivery } from "../target/scheme.ts";
import type { Target } from "../target/target.ts";
import type { AuditCheck } from "./check.ts";
import { acknowledgedCheck, refusedCheck } from "./probe-check.ts";

const rawBytes =
  "Compute the HMAC over the raw bytes of the request body, before anything decodes, parses or trims them.";

/** The delivery with another body under its old signature. */
const altered = (delivery: Delivery, body: Buffer): Delivery => ({ ...delivery, body });

/** The token without its version, as `v1,` or `sha256=` opens it. */
const opening = (signature: string) => /^[a-z0-9]+[,=]/.exec(signature)?.[0] ?? "";
const proof = (signature: string) => signature.slice(opening(signature).length);

function flippedBit(target: Target, signature: string): string {
  const encoding = target.scheme.name === "github" ? "hex" : "base64";
  const bytes = Buffer.from(proof(signature), encoding);
  bytes.writeUInt8(bytes.readUInt8(bytes.length - 1) ^ 1, bytes.length - 1);
  return opening(signature) + bytes.toString(encoding);
}

function cutAfter(signature: string, characters: number): string {
  return opening(signature) + proof(signature).slice(0, characters);
}

export const signatureChecks: readonly AuditCheck[] = [
  refusedCheck({
    id: "signature.forged",
    requirement: "MUST",
    title: "refuses a delivery signed with a key it does not know",
    sent: "a well-formed delivery whose signature was made with a random key",
    mend: "Compare the signature of the request with one computed from the endpoint's own secret.",
    shots: (target) => {
      const delivery = target.compose();
      return [{ delivery: { ...delivery, signature: target.signForged(delivery) } }];
    },
  }),
  refusedCheck({
    id: "signature.missing",
    requirement: "MUST",
    title: "refuses a delivery without a signature",
    sent: "a delivery without the signature header",
    mend: "Refuse a request without the signature header, with 400 or 401, before reading its body.",
    shots: (target) => {
      const delivery = target.compose();
      const { signature } = target.scheme.headerNames;
      const headers = target.scheme.headers(delivery).filter(([name]) => name !== signature);
      return [{ delivery, options: { headers } }];
    },
  }),
  refusedCheck({
    id: "signature.empty",
    requirement: "MUST",
    title: "refuses an empty signature",
    sent: "deliveries whose signature is nothing, only the version, or the version and its separator",
    mend: "A signature without bytes matches nothing; never compare only as many bytes as were sent.",
    shots: (target) => {
      const start = opening(target.compose().signature);
      return ["", start.slice(0, -1), start].map((signature) => ({
        label: JSON.stringify(signature),
        delivery: { ...target.compose(), signature },
      }));
    },
  }),
  refusedCheck({
    id: "signature.bit-flipped",
    requirement: "MUST",
    title: "refuses a signature with one wrong bit",
    sent: "a delivery whose signature differs from the right one in its last bit",
    mend: "Compare all bytes of the signature, in constant time.",
    shots: (target) => {
      const delivery = target.compose();
      return [{ delivery: { ...delivery, signature: flippedBit(target, delivery.signature) } }];
    },
  }),
  refusedCheck({
    id: "signature.truncated",
    requirement: "MUST",
    title: "refuses the beginning of the right signature",
    sent: "deliveries with the first 4 and the first half of the characters of the right signature",
    mend: "Check that both signatures have the same length before comparing them.",
    shots: (target) => {
      const half = Math.floor(proof(target.compose().signature).length / 8) * 4;
      return [4, half].map((characters) => {
        const delivery = target.compose();
        const signature = cutAfter(delivery.signature, characters);
        return { label: `${characters} characters`, delivery: { ...delivery, signature } };
      });
    },
  }),
  refusedCheck({
    id: "signature.empty-key",
    requirement: "MUST",
    title: "refuses a delivery signed with an empty key",
    sent: "a delivery signed with a key of no bytes",
    mend: "Refuse at start a secret that is empty or decodes to nothing: with it anyone can sign.",
    shots: (target) => {
      const delivery = target.compose();
      return [{ delivery: { ...delivery, signature: target.signWithKey(delivery, Buffer.alloc(0)) } }];
    },
  }),
  refusedCheck({
    id: "signature.altered-byte",
    requirement: "MUST",
    title: "refuses a body with one byte altered",
    sent: "a signed delivery in whose body one character was changed afterwards",
    mend: rawBytes,
    shots: (target) => {
      const delivery = target.compose();
      const body = Buffer.from(
        delivery.body.toString("latin1").replace("audit-workspace", "Audit-workspace"),
      );
      return [{ delivery: altered(delivery, body) }];
    },
  }),
  refusedCheck({
    id: "signature.reserialised",
    requirement: "MUST",
    title: "refuses a body that was parsed and written again",
    sent: "a delivery signed over compact JSON, sent indented, and one the other way round",
    mend: `${rawBytes} A body that is parsed and serialised again for the HMAC has one signature for many spellings.`,
    shots: (target) => {
      const payload = target.samples.task();
      const compact = target.compose({ payload });
      const indented = target.compose({ body: JSON.stringify(payload, null, 2) });
      return [
        { label: "sent indented", delivery: altered(compact, indented.body) },
        { label: "sent compact", delivery: altered(indented, compact.body) },
      ];
    },
  }),
  refusedCheck({
    id: "signature.replacement-character",
    requirement: "MUST",
    title: "refuses a byte that is not UTF-8 in place of a signed replacement character",
    sent: "a body signed with U+FFFD in it, sent with the single byte 0xFF there instead",
    mend: `${rawBytes} A body decoded to text first turns every invalid byte into U+FFFD, so different bodies share one signature.`,
    shots: (target) => {
      const delivery = target.compose({ payload: target.samples.task({ errorMessage: "\uFFFD" }) });
      const body = Buffer.from(
        delivery.body.toString("latin1").replace("\u00ef\u00bf\u00bd", "\u00ff"),
        "latin1",
      );
      return [{ delivery: altered(delivery, body) }];
    },
  }),
  refusedCheck({
    id: "signature.byte-order-mark-added",
    requirement: "MUST",
    title: "refuses a byte order mark added after signing",
    sent: "a signed delivery with the bytes EF BB BF put in front of its body",
    mend: `${rawBytes} A text decoder drops a byte order mark without a word.`,
    shots: (target) => {
      const delivery = target.compose();
      return [{ delivery: altered(delivery, Buffer.concat([Buffer.from("\uFEFF"), delivery.body])) }];
    },
  }),
  refusedCheck({
    id: "signature.newline-added",
    requirement: "MUST",
    title: "refuses a newline added after signing",
    sent: "a signed delivery with one newline put behind its body",
    mend: rawBytes,
    shots: (target) => {
      const delivery = target.compose();
      return [{ delivery: altered(delivery, Buffer.concat([delivery.body, Buffer.from("\n")])) }];
    },
  }),
  refusedCheck({
    id: "signature.other-id",
    requirement: "MUST",
    title: "refuses a delivery under another id than the signed one",
    schemes: ["standard-webhooks"],
    sent: "a signed delivery whose webhook-id was replaced afterwards",
    mend: "Sign `id.timestamp.body` with the id of the request; otherwise a captured delivery passes as a new one.",
    shots: (target) => [{ delivery: { ...target.compose(), id: target.nextId() } }],
  }),
  refusedCheck({
    id: "signature.other-timestamp",
    requirement: "MUST",
    title: "refuses a delivery under another timestamp than the signed one",
    schemes: ["standard-webhooks"],
    sent: "a delivery signed five seconds ago whose webhook-timestamp was replaced by the present one",
    mend: "Sign `id.timestamp.body` with the timestamp of the request; otherwise old deliveries can be made fresh.",
    shots: (target) => {
      const { timestamp } = target.compose();
      return [{ delivery: { ...target.compose({ ageSeconds: 5 }), timestamp } }];
    },
  }),
  refusedCheck({
    id: "signature.unknown-version",
    requirement: "MUST",
    title: "refuses the right bytes under a version that is not v1",
    schemes: ["standard-webhooks"],
    sent: "deliveries whose right signature is labelled v2, v1a, V1, or not at all",
    mend: "Accept only tokens that begin with exactly `v1,`; ignore all others.",
    shots: (target) => {
      return ["v2,", "v1a,", "V1,", ""].map((label) => {
        const delivery = target.compose();
        const signature = label + proof(delivery.signature);
        return { label: JSON.stringify(label), delivery: { ...delivery, signature } };
      });
    },
  }),
  refusedCheck({
    id: "signature.other-spelling",
    requirement: "SHOULD",
    title: "refuses the right signature in another encoding",
    schemes: ["standard-webhooks"],
    sent: "deliveries whose right signature is written as hex, as base64url, and without padding",
    mend: "Accept only canonical base64 of 32 bytes, so that one delivery has one valid form.",
    shots: (target) => {
      const spellings = {
        hex: (right: string) => Buffer.from(right, "base64").toString("hex"),
        base64url: (right: string) => Buffer.from(right, "base64").toString("base64url"),
        unpadded: (right: string) => right.replace(/=+$/, ""),
      };
      return Object.entries(spellings).map(([label, spell]) => {
        const delivery = target.compose();
        return { label, delivery: { ...delivery, signature: `v1,${spell(proof(delivery.signature))}` } };
      });
    },
  }),
  refusedCheck({
    id: "signature.trailing-junk",
    requirement: "SHOULD",
    title: "refuses a right signature followed by junk",
    schemes: ["standard-webhooks"],
    sent: "a delivery with webhook-signature `v1,<right>,junk`",
    mend: "Match the whole token (`^v1,[A-Za-z0-9+/]+=*$`) instead of splitting it at commas.",
    shots: (target) => {
      const delivery = target.compose();
      return [{ delivery: { ...delivery, signature: `${delivery.signature},junk` } }];
    },
  }),
  acknowledgedCheck({
    id: "signature.exact-bytes",
    requirement: "MUST",
    title: "accepts a body exactly as it was signed, however it is spaced",
    sent: "a signed delivery of indented JSON with escapes, a line break as CR LF, and one at the end",
    mend: `${rawBytes} This one fails when the parsed body is serialised again for the HMAC.`,
    shots: (target) => {
      const text = JSON.stringify(target.samples.task({ errorMessage: "a/b" }), null, 3);
      const body = `${text.replaceAll("\n", "\r\n").replace("a/b", "a\\/\\u0062")}\r\n`;
      return [{ delivery: target.compose({ body }) }];
    },
  }),
  acknowledgedCheck({
    id: "signature.non-ascii",
    requirement: "MUST",
    title: "accepts a signed body with characters outside ASCII",
    sent: "a signed delivery with accents, Chinese, an emoji and U+FFFD in its text",
    mend: `${rawBytes} This one fails when the body is read as latin1 or its length is counted in characters.`,
    shots: (target) => [
      { delivery: target.compose({ payload: target.samples.task({ errorMessage: "é 税 🧾 \uFFFD" }) }) },
    ],
  }),
];
