// What a secret store holds. `pending` marks that a secret is being issued, by the call of that id, until `untilMs` at the
// latest. It is written before the service is asked and removed together with the secret, so a marker whose time is over
// says that the newest secret may be lost.

import { type Clock, systemClock } from "@workspace-tasks/kernel/clock.ts";
import { jsonOrUndefined } from "@workspace-tasks/kernel/json.ts";
import { nodeModule } from "@workspace-tasks/kernel/node-module.ts";
import { foreignFile, privacyOf } from "@workspace-tasks/kernel/private-file.ts";
import * as s from "@workspace-tasks/kernel/schema.ts";
import type { CallScope } from "../call/call-scope.ts";
import { FailureError, failure } from "../call/failure.ts";
import { sha256 } from "../credentials/credentials.ts";
import { WorkspaceTasksError } from "../errors.ts";

/** Times are milliseconds since the epoch. */
const storedSecrets = s.looseObject({
  version: s.refineNumber("1", (value) => value === 1),
  /** The URL as the caller wrote it; the service may write it differently. */
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
  const given: unknown = text ?? "";
  if (typeof given === "string" && given.trim() === "") return empty;
  const parsed = () => storedSecrets(jsonOrUndefined(s.string(given, "")), "");
  return s.parse(parsed, given, ({ message }) => {
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

const readableStore = s.objectWith<Pick<SecretStore, "read">>("a store with read", "read");
const cacheOptions = s.strictObject({
  cacheMs: s.withDefault(s.numberFrom(0), 5_000),
  clock: s.withDefault(s.clock, systemClock),
});

/**
 * The `secrets` option of a receiver: a function that returns the secrets in the store, which it reads at most every
 * `cacheMs` (default 5,000). While the store fails or is empty, the receiver responds 503 and the service retries.
 */
export function signingSecrets(
  store: Pick<SecretStore, "read">,
  options: { cacheMs?: number | undefined; clock?: Clock | undefined } = {},
): () => Promise<readonly string[]> {
  const invalid = ({ message }: s.ValidationError) =>
    new WorkspaceTasksError("CONFIGURATION_INVALID", `signingSecrets: ${message}`);
  s.parse(readableStore, store, invalid);
  const { cacheMs, clock } = s.parse(cacheOptions, options, invalid);
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

// A process that is killed must not leave a lock. So the change of a text is a link that one process alone can make, named
// after that text. It is the whole next text: a process that finds it abandoned moves it into place.

// An abandoned link is older. Others are moved within milliseconds.
const ageMsMin = 1_000;

/**
 * Keeps the signing secrets in a file of mode 0600, which is replaced as a whole; of a link, its target is. Processes that
 * share it need a file system with hard links. Its folder must exist. What a process that is killed leaves beside it has a
 * name that begins with that of the file, and is for its owner alone, too.
 *
 * @throws {WorkspaceTasksError} `CONFIGURATION_INVALID` without a path, or where there are no files, as in a browser
 */
export function fileSecrets(path: string): SecretStore {
  s.parse(
    s.nonEmptyString,
    path,
    ({ message }) => new WorkspaceTasksError("CONFIGURATION_INVALID", `fileSecrets: path: ${message}`),
  );
  const fs = filesOfRuntime();

  async function read(): Promise<string | null> {
    const found = await fs.stat(path).catch(ignore("ENOENT", null));
    if (found?.isFile() && privacyOf(found) === "foreign") throw new Error(foreignFile(path, found));
    return fs.readFile(path, "utf8").catch(ignore("ENOENT", null));
  }

  /** The file itself, where the path is a link. Another kind of file, such as a device, would be replaced by one. */
  async function fileToReplace(): Promise<string> {
    const target = await fs.realpath(path).catch(ignore("ENOENT", path));
    const found = await fs.stat(target).catch(ignore("ENOENT", null));
    if (found === null || found.isFile()) return target;
    throw new Error(`expected a file, or nothing, at ${path}, got something else`);
  }

  async function isAbandoned(link: string, draft: string): Promise<boolean> {
    // Both times are of the file system's clock.
    const [made, now] = await Promise.all([fs.stat(link).catch(ignore("ENOENT", null)), fs.stat(draft)]);
    return made !== null && now.mtimeMs - made.mtimeMs > ageMsMin;
  }

  return {
    read,
    async write(next, previous) {
      const target = await fileToReplace();
      if ((await read()) !== previous) return false;
      const link = `${target}.${sha256(String(previous)).slice(0, 16)}`;
      const folder = await fs.mkdtemp(`${link}.`);
      const draft = `${folder}/next`;
      try {
        await fs.writeFile(draft, next, { mode: 0o600, flag: "wx", flush: true });
        const isOwn = await fs.link(draft, link).then(() => true, ignore("EEXIST", false));
        if (!isOwn && !(await isAbandoned(link, draft))) return false;
        // Only the link moves the file on from `previous`, so nothing else can replace it now.
        const isCurrent = (await read()) === previous;
        if (isCurrent) await fs.rename(link, target).catch(ignore("ENOENT", undefined));
        else if (isOwn) await fs.rm(link, { force: true });
        return isOwn && isCurrent;
      } finally {
        await fs.rm(folder, { recursive: true });
      }
    },
  };
}

function filesOfRuntime() {
  try {
    return nodeModule("node:fs/promises");
  } catch {
    throw new WorkspaceTasksError(
      "CONFIGURATION_INVALID",
      "fileSecrets: expected a runtime with files; use a store of your own",
    );
  }
}

/** Returns `value` for an error of this code, and throws any other. */
const ignore =
  <Value>(code: string, value: Value) =>
  (error: unknown): Value => {
    if ((error as { readonly code?: unknown }).code === code) return value;
    throw error;
  };
