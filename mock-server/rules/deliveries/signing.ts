import { Webhook } from "standardwebhooks";

/** The three headers of one attempt. @see interface §6, "Delivery headers and verification" */
export type SignedHeaders = {
  readonly "webhook-id": string;
  /** Seconds since the Unix epoch. */
  readonly "webhook-timestamp": string;
  /** One signature per secret, in the order of the secrets, separated by a space. */
  readonly "webhook-signature": string;
};

/** Signs with every secret given, so that a receiver which knows any one of them can verify (W13). */
export function signDelivery(delivery: {
  readonly id: string;
  readonly atMs: number;
  readonly body: string;
  readonly secrets: readonly string[];
}): SignedHeaders {
  const at = new Date(delivery.atMs);
  const signatures = delivery.secrets.map((secret) => signerOf(secret).sign(delivery.id, at, delivery.body));
  return {
    "webhook-id": delivery.id,
    "webhook-timestamp": String(Math.floor(delivery.atMs / 1_000)),
    "webhook-signature": flatten(signatures.join(" ")),
  };
}

// The library builds base64 character by character, which the engine keeps as a tree of some 34 nodes, a
// kilobyte for each attempt recorded. Going through a buffer makes it one string.
const flatten = (text: string) => Buffer.from(text, "latin1").toString("latin1");

// Decoding a secret costs as much as signing a small body, so signers of recent secrets are kept.
const signers = new Map<string, Webhook>();
const signersMax = 1_000;

function signerOf(secret: string): Webhook {
  const known = signers.get(secret);
  if (known) return known;
  if (signers.size >= signersMax) signers.clear();
  const signer = new Webhook(secret);
  signers.set(secret, signer);
  return signer;
}
