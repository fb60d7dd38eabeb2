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
