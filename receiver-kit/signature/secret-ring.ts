import type { KeyObject } from "node:crypto";
import type { Clock } from "../clock.ts";
import { WebhookRejectedError, WebhookSecretError } from "../errors.ts";
import { parseSecret } from "./secret.ts";

export type Secrets = readonly string[] | (() => readonly string[] | Promise<readonly string[]>);

/** The keys that may have signed a delivery right now. */
export type SecretRing = {
  /** Set when the secrets are a fixed list. */
  readonly fixed: readonly KeyObject[] | undefined;
  /** @throws {WebhookRejectedError} SECRETS_UNAVAILABLE */
  current(): Promise<readonly KeyObject[]>;
};

const secretsTimeoutMs = 5000;

/**
 * Turns the `secrets` option into keys: a list at once, a function at each call.
 *
 * A function that throws, takes longer than 5 s, or returns an unusable list is an outage of the receiver, not
 * a fault of the sender: the delivery is answered 503 and comes again.
 *
 * @throws {WebhookSecretError} at once when a listed secret cannot be right
 */
export function createSecretRing(secrets: Secrets, clock: Clock): SecretRing {
  if (typeof secrets !== "function") {
    const fixed = parseSecrets(secrets);
    return { fixed, current: async () => fixed };
  }
  let known: { readonly texts: readonly string[]; readonly keys: readonly KeyObject[] } | undefined;
  return {
    fixed: undefined,
    async current() {
      try {
        const texts = await withinTimeout(secrets(), clock);
        if (!known || !sameTexts(known.texts, texts)) {
          const keys = parseSecrets(texts);
          known = { texts: [...texts], keys };
        }
        return known.keys;
      } catch (cause) {
        const reason = cause instanceof WebhookSecretError ? cause.message : "the function failed";
        throw new WebhookRejectedError("SECRETS_UNAVAILABLE", `secrets: ${reason}`, { cause });
      }
    },
  };
}

function parseSecrets(secrets: unknown): readonly KeyObject[] {
  if (!Array.isArray(secrets)) {
    const got = secrets === null ? "null" : typeof secrets;
    throw new WebhookSecretError("SECRET_MISSING", `secrets: expected a list of secrets, got ${got}`);
  }
  if (secrets.length === 0) {
    throw new WebhookSecretError(
      "SECRET_MISSING",
      "secrets: expected at least one secret, got an empty list",
    );
  }
  return secrets.map((secret, index) => parseSecret(secret, `secrets[${index}]`));
}

function sameTexts(known: readonly string[], texts: readonly string[]): boolean {
  return (
    Array.isArray(texts) &&
    known.length === texts.length &&
    known.every((text, index) => text === texts[index])
  );
}

async function withinTimeout<T>(pending: T | Promise<T>, clock: Clock): Promise<T> {
  if (Array.isArray(pending)) return pending;
  let cancel = () => {};
  const timeout = new Promise<never>((_, reject) => {
    cancel = clock.schedule(secretsTimeoutMs, () =>
      reject(new Error(`no answer within ${secretsTimeoutMs} ms`)),
    );
  });
  return Promise.race([pending, timeout]).finally(cancel);
}
