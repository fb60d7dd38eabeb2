import { createFinding, type Finding } from "./finding.ts";

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
