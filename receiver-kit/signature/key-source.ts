import type { KeyObject } from "node:crypto";
import type { Clock } from "../clock.ts";
import { isReceiverError, ReceiverError, WebhookRejectedError } from "../errors.ts";
import { withTimeout } from "../with-timeout.ts";
import { parseSecret } from "./secret.ts";

export type Secrets = readonly string[] | (() => readonly string[] | Promise<readonly string[]>);

/** The keys that may have signed a delivery. @throws {WebhookRejectedError} SECRETS_UNAVAILABLE */
export type KeySource = () => readonly KeyObject[] | Promise<readonly KeyObject[]>;

const secretsTimeoutMs = 5_000;

/**
 * Turns the `secrets` option into keys: a list at once, a function at each call.
 *
 * A function that throws, takes longer than 5 s or returns an unusable list is an outage of the receiver and not an
 * error of the sender: the response is 503, and the delivery is sent again.
 *
 * @throws {ReceiverError} `SECRET_…` at once when a listed secret cannot be right
 */
export function createKeySource(secrets: Secrets, clock: Clock): KeySource {
  if (typeof secrets !== "function") {
    const keys = parseSecrets(secrets);
    return () => keys;
  }
  let cached: { readonly texts: readonly string[]; readonly keys: readonly KeyObject[] } | undefined;
  return async () => {
    try {
      const texts = await callSecrets(secrets, clock);
      if (!cached || !isSameList(cached.texts, texts)) {
        const keys = parseSecrets(texts);
        cached = { texts: [...texts], keys };
      }
      return cached.keys;
    } catch (cause) {
      const message = isReceiverError(cause) ? cause.message : "secrets: the function failed";
      throw new WebhookRejectedError("SECRETS_UNAVAILABLE", message, { cause });
    }
  };
}

async function callSecrets(secrets: Exclude<Secrets, readonly string[]>, clock: Clock) {
  const pending = secrets();
  // No timer for a function that returns from memory.
  if (Array.isArray(pending)) return pending;
  return withTimeout(
    Promise.resolve(pending),
    secretsTimeoutMs,
    clock,
    () => new Error(`the function did not resolve within ${secretsTimeoutMs} ms`),
  );
}

function parseSecrets(secrets: unknown): readonly KeyObject[] {
  if (!Array.isArray(secrets) || secrets.length === 0) {
    const found = Array.isArray(secrets) ? "an empty list" : secrets === null ? "null" : typeof secrets;
    throw new ReceiverError(
      "SECRET_MISSING",
      `secrets: expected a list of at least one secret, got ${found}`,
    );
  }
  return secrets.map((secret, index) => parseSecret(secret, `secrets[${index}]`));
}

function isSameList(cached: readonly string[], texts: readonly string[]): boolean {
  return (
    Array.isArray(texts) &&
    cached.length === texts.length &&
    cached.every((text, index) => text === texts[index])
  );
}
