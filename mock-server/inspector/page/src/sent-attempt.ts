import type { Finding } from "./finding.ts";

// Where the mock knows the delivery by its id, it knows what it sent. So when no usual mistake explains a
// signature, what arrived is held against that, header by header and byte by byte.

/** One attempt of a delivery as the mock sent it. */
export type SentAttempt = {
  readonly timestamp: string;
  readonly signature: string;
  readonly body: string;
  /** Faults that altered it on purpose. */
  readonly faults: readonly string[];
};

type Arrived = { readonly timestamp: string; readonly signature: string; readonly body: string };

/** The difference that makes the signature wrong, or `undefined` when the mock does not know the delivery. */
export function compareWithSent(arrived: Arrived, sent: readonly SentAttempt[]): Finding | undefined {
  if (sent.length === 0) return undefined;
  const twin = sent.find(({ timestamp }) => timestamp === arrived.timestamp.trim());
  if (!twin) {
    return {
      code: "TIMESTAMP_ALTERED",
      title: "no attempt of this delivery was signed at this timestamp",
      advice: `The mock sent ${sent.map(({ timestamp }) => timestamp).join(", ")}. Pass the header on unchanged.`,
    };
  }
  if (twin.body !== arrived.body) {
    return {
      code: "BODY_ALTERED",
      title: `the body is not the one that was sent: ${describeDifference(twin.body, arrived.body)}`,
      advice:
        "Something between the mock and the verification changes the body. Verify the bytes that arrive.",
    };
  }
  if (twin.signature !== arrived.signature.trim()) {
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

/** Where two texts part, in bytes, with a little of both. */
function describeDifference(sent: string, arrived: string): string {
  let index = 0;
  while (index < Math.min(sent.length, arrived.length) && sent[index] === arrived[index]) index++;
  const byte = new TextEncoder().encode(sent.slice(0, index)).length;
  const excerpt = (text: string) =>
    index >= text.length ? "it ends" : JSON.stringify(text.slice(index, index + contextCharacters));
  return `at byte ${byte} the mock sent ${excerpt(sent)}, received ${excerpt(arrived)}`;
}
