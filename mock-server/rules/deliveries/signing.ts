import { textOfUtf8, toBase64, utf8 } from "@workspace-tasks/kernel/bytes.ts";
import { createBoundedCache, getOrCreate } from "@workspace-tasks/kernel/cache.ts";
import { Webhook } from "standardwebhooks";
import type { SigningSecretRecord, WebhookEndpointRecord } from "../../state/records.ts";
import type { World } from "../../world/world.ts";

/** The three headers of one attempt. @see interface §6, "Delivery headers and verification" */
export interface SignedHeaders {
  readonly "webhook-id": string;
  /** Seconds since the Unix epoch. */
  readonly "webhook-timestamp": string;
  /** One signature per secret, in the order of the secrets, separated by a space. */
  readonly "webhook-signature": string;
}

/** Signs with every secret, so that a receiver which knows any one of them can verify (W13). */
export function signDelivery(delivery: {
  readonly id: string;
  readonly atMs: number;
  readonly body: string;
  readonly secrets: readonly string[];
}): SignedHeaders {
  const { id, body } = delivery;
  const at = new Date(delivery.atMs);
  const signatures = delivery.secrets.map((secret) => signatureOf(secret, { id, at, body }));
  return {
    "webhook-id": delivery.id,
    "webhook-timestamp": String(Math.floor(delivery.atMs / 1_000)),
    "webhook-signature": flatten(signatures.join(" ")),
  };
}

interface Signed {
  readonly id: string;
  readonly at: Date;
  readonly body: string | Buffer;
}

export const signatureOf = (secret: string, { id, at, body }: Signed): string =>
  getOrCreate(signers, secret, (text) => new Webhook(text)).sign(id, at, body);

// Decoding a secret costs as much as signing a small body.
const signers = createBoundedCache<string, Webhook>(1_000);

// The library builds base64 character by character, which the engine keeps as a tree of some 34 nodes, a
// kilobyte for each recorded attempt. A copy through a buffer is one string.
const flatten = (text: string) => textOfUtf8(utf8(text));

/** 32 random bytes behind the prefix that the Standard Webhooks libraries expect. */
export const newSecret = (world: World) => `whsec_${toBase64(world.random.bytes("signing-secret", 32))}`;

/** The secrets that verify now, newest first: each signs every attempt (W13). */
export function liveSecrets(world: World, endpoint: WebhookEndpointRecord): readonly SigningSecretRecord[] {
  const nowMs = world.clock.now();
  return endpoint.secrets.filter(({ expiresAtMs }) => expiresAtMs === null || expiresAtMs > nowMs);
}
