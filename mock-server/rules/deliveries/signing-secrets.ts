import type { SigningSecretRecord, WebhookEndpointRecord } from "../../state/records.ts";
import type { World } from "../../world/world.ts";

/** 32 random bytes behind the prefix that the Standard Webhooks libraries expect. */
export const newSecret = (world: World) =>
  `whsec_${world.random.bytes("signing-secret", 32).toString("base64")}`;

/** The secrets that verify now, newest first: each signs every attempt (W13). */
export function liveSecrets(world: World, endpoint: WebhookEndpointRecord): readonly SigningSecretRecord[] {
  const nowMs = world.clock.now();
  return endpoint.secrets.filter(({ expiresAtMs }) => expiresAtMs === null || expiresAtMs > nowMs);
}
