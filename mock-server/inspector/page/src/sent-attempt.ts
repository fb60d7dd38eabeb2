import type { Finding } from "./finding.ts";

// The mock has what it sent of a delivery with a known id. When no usual mistake explains a signature, the received
// request is compared with that, header by header and byte by byte.

/** One attempt of a delivery as the mock sent it. */
export type SentAttempt = {
  readonly timestamp: string;
  readonly signature: string;
  readonly body: string;
  /** Faults that altered it. */
  readonly faults: readonly string[];
};

type ReceivedRequest = { readonly timestamp: string; readonly signature: string; readonly body: string };

/** The difference that makes the signature wrong, or `undefined` without attempts of the mock. */
export function compareWithSent(
  received: ReceivedRequest,
  sent: readonly SentAttempt[],
): Finding | undefined {
  if (sent.length === 0) return undefined;
  const twin = sent.find(({ timestamp }) => timestamp === received.timestamp.trim());
  if (!twin) {
    return {
      code: "TIMESTAMP_ALTERED",
      title: "no attempt of this delivery was signed at this timestamp",
      advice: `The mock sent ${sent.map(({ timestamp }) => timestamp).join(", ")}. Pass the header on unchanged.`,
    };
  }
  if (twin.body !== received.body) {
    return {
      code: "BODY_ALTERED",
      title: `the body is not the one that was sent: ${describeDifference(twin.body, received.body)}`,
      advice:
        "Something between the mock and the verification changes the body. Verify the bytes that arrive.",
    };
  }
  if (twin.signature !== received.signature.trim()) {
    return {
      code: "SIGNATURE_ALTERED",
      title: "webhook-signature is not the one that was sent",
      advice: `The mock sent ${twin.signature}. Pass the header on unchanged.`,
    };
  }
  if (twin.faults.length > 0) {
    return {
      code: "FAULT_ON_PURPOSE",
      title: `a fault altered this attempt: ${twin.faults.join(", ")}`,
      advice: "A receiver must reject it.",
    };
  }
  return {
    code: "SECRET_WRONG",
    title: "headers and body arrived as they were sent, so the secret is another one",
    advice: "Take the secret of the endpoint that this delivery was sent to; it may have been rotated since.",
  };
}

const contextCharacters = 12;

/** Where two texts differ, in bytes, with an excerpt of both. */
function describeDifference(sent: string, received: string): string {
  let index = 0;
  while (index < Math.min(sent.length, received.length) && sent[index] === received[index]) index++;
  const byte = new TextEncoder().encode(sent.slice(0, index)).length;
  const excerpt = (text: string) =>
    index >= text.length ? "it ends" : JSON.stringify(text.slice(index, index + contextCharacters));
  return `at byte ${byte} the mock sent ${excerpt(sent)}, received ${excerpt(received)}`;
}
