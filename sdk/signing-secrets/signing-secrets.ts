// What a secret store holds. `pending` marks that a secret is being issued, by the call of that id, until `untilMs` at the
// latest. It is written before the service is asked and removed together with the secret, so a marker whose time is over
// says that the newest secret may be lost.

import { type Clock, systemClock } from "@workspace-tasks/kernel/clock.ts";
import { jsonOrUndefined } from "@workspace-tasks/kernel/json.ts";
import * as s from "@workspace-tasks/kernel/schema.ts";
import type { CallScope } from "../call/call-scope.ts";
import { FailureError, failure } from "../call/failure.ts";
import { WorkspaceTasksError } from "../errors.ts";

/** Times are milliseconds since the epoch. */
const storedSecrets = s.looseObject({
  version: s.refineNumber("1", (value) => value === 1),
  /** As the caller wrote it; the service may write it differently. */
  url: s.string,
  endpointId: s.string,
  /** Newest first. `validUntilMs`: null for the current one. */
  secrets: s.array(s.looseObject({ secret: s.nonEmptyString, validUntilMs: s.nullish(s.number) })),
  pending: s.nullish(s.looseObject({ id: s.nonEmptyString, untilMs: s.number })),
});
export type StoredSecrets = ReturnType<typeof storedSecrets>;

const empty: StoredSecrets = { version: 1, url: "", endpointId: "", secrets: [], pending: null };

/** A receiver accepts no more. */
const secretsMax = 16;

/** @throws {WorkspaceTasksError} `SECRET_STORE_FAILED` for a text of another origin; the message shows nothing of it */
export function parseSecrets(text: string | null): StoredSecrets {
  if (text === null || text.trim() === "") return empty;
  return s.parse(storedSecrets, jsonOrUndefined(text), ({ message }) => {
    const expected =
      "secrets.read: expected nothing or the JSON text that webhooks.ensureEndpoint has stored";
    const fix = "use a store of its own, or empty it and call webhooks.ensureEndpoint";
    return new WorkspaceTasksError("SECRET_STORE_FAILED", `${expected} (${message}); ${fix}`);
  });
}

/** Puts a secret in front; the others verify for `graceMs` more at most. Ends `pending`. */
export function addSecret(
  { secrets, ...stored }: StoredSecrets,
  secret: string,
  graceMs: number,
  nowMs: number,
): StoredSecrets {
  const old = secrets.map((each) => ({
    ...each,
    validUntilMs: Math.min(each.validUntilMs ?? Number.POSITIVE_INFINITY, nowMs + graceMs),
  }));
  const valid = [{ secret, validUntilMs: null }, ...old.filter(({ validUntilMs }) => validUntilMs > nowMs)];
  return { ...stored, secrets: valid.slice(0, secretsMax), pending: null };
}

/**
 * The secrets in the text of a store that verify now, newest first; none in an empty store. For receivers of many tenants:
 * `secrets` of a `Tenant`.
 *
 * @throws {WorkspaceTasksError} `SECRET_STORE_FAILED` for a text that `webhooks.ensureEndpoint` did not store
 */
export function readSigningSecrets(
  text: string | null,
  nowMs: number = systemClock.now(),
): readonly string[] {
  const valid = parseSecrets(text).secrets.filter(({ validUntilMs }) => (validUntilMs ?? nowMs + 1) > nowMs);
  return valid.map(({ secret }) => secret);
}

/**
 * The `secrets` option of a receiver: a function that returns the secrets in the store, which it reads at most every
 * `cacheMs` (default 5,000). While the store fails or is empty, the receiver responds 503 and the service retries.
 */
export function signingSecrets(
  store: Pick<SecretStore, "read">,
  { cacheMs = 5_000, clock = systemClock }: { cacheMs?: number | undefined; clock?: Clock | undefined } = {},
): () => Promise<readonly string[]> {
  let latest: { readonly text: Promise<string | null>; readonly atMs: number } | undefined;
  return async () => {
    const nowMs = clock.monotonic();
    if (!latest || nowMs - latest.atMs >= cacheMs) latest = { text: store.read(), atMs: nowMs };
    const { text } = latest;
    try {
      return readSigningSecrets(await text, clock.now());
    } catch (error) {
      if (latest?.text === text) latest = undefined;
      throw error;
    }
  };
}

/**
 * Where the signing secrets of one endpoint are kept, as one short text: a file, a row, an entry of a secret manager. What
 * was written must be read at once, by every process. Keep it as secret as an API key.
 */
export interface SecretStore {
  /** The text last written; `null` when there is none. */
  read(): Promise<string | null>;
  /**
   * Stores `next` if the text is still `previous`; otherwise stores nothing and returns `false`. A store that ignores
   * `previous` and returns nothing is right unless two processes use it at once.
   */
  // biome-ignore lint/suspicious/noConfusingVoidType: an async function without a result is a store too
  write(next: string, previous: string | null): Promise<boolean | void>;
}

/** The store within the limits of a call. Its failures are `SECRET_STORE_FAILED`. */
export interface GuardedStore {
  read(): Promise<string | null>;
  /** Returns false when another process has changed the text. */
  replace(next: string, previous: string | null): Promise<boolean>;
}

const storeTimeoutMs = 5_000;

export function guardStore(store: SecretStore, scope: CallScope): GuardedStore {
  async function limited<Value>(
    method: keyof SecretStore,
    run: () => Value | PromiseLike<Value>,
  ): Promise<Value> {
    const onLimit = () => storeFailed(method, `expected a result within ${storeTimeoutMs} ms, got none`);
    try {
      return await scope.within({ limitMs: storeTimeoutMs, onLimit }, run);
    } catch (cause) {
      if (cause instanceof FailureError) throw cause;
      throw new FailureError(storeFailed(method, "it failed, see cause", cause));
    }
  }

  async function read(): Promise<string | null> {
    const text: unknown = await limited("read", () => store.read());
    if (text === null || text === undefined || typeof text === "string") return text ?? null;
    throw new FailureError(storeFailed("read", `expected a string or null, got a ${typeof text}`));
  }

  return {
    read,
    async replace(next, previous) {
      const written: unknown = await limited("write", () => store.write(next, previous));
      return written === true || (written !== false && (await read()) === next);
    },
  };
}

const storeFailed = (method: keyof SecretStore, problem: string, cause?: unknown) =>
  failure("SECRET_STORE_FAILED", `secrets.${method}: ${problem}; repair the store and repeat the call`, {
    cause,
  });
