import { type KeyObject, randomBytes } from "node:crypto";
import type { Clock } from "@workspace-tasks/kernel/clock.ts";
import { callSafely } from "@workspace-tasks/kernel/notify-listener.ts";
import { strictOptions } from "@workspace-tasks/kernel/schema.ts";
import { withTimeout } from "@workspace-tasks/kernel/with-timeout.ts";
import { isReceiverError, isWebhookRejectedError, ReceiverError, WebhookRejectedError } from "../errors.ts";
import { nameOption, parseOptions, sharedOptions, textOption } from "../options.ts";
import { parseSecret } from "./secret.ts";
import { findHeader, type WebhookHeaders } from "./signature-headers.ts";

/** What a function of the `secrets` option may decide by. Nothing of it is verified yet. */
export interface SecretsRequest {
  /** Path of the URL, as sent, without the query; also in front of it where a router is mounted. `/` when unknown. */
  readonly path: string;
  readonly headers: {
    /** Value of a header, in any case. @throws {WebhookRejectedError} `HEADER_REPEATED` when it was sent twice */
    get(name: string): string | undefined;
  };
}

export interface TenantIdentity {
  /** Names the tenant in rows, handlers and logs: 1 to 64 of A-Z a-z 0-9 . _ : - */
  readonly id: string;
  /** The tenant's workspace, as `client.me()` returns it; its events are the only ones that are accepted. */
  readonly workspaceId: string;
}

/** Whose deliveries a request may contain. */
export interface Tenant extends TenantIdentity {
  /** The signing secrets of the tenant's endpoint: several while one is rotated, at most 16. */
  readonly secrets: readonly string[];
}

export type SecretsFunction = (request: SecretsRequest) => readonly string[] | Promise<readonly string[]>;

export interface TenantSecrets {
  /**
   * Finds the tenant by the request's path or headers; `undefined` when there is none, which is rejected like a wrong
   * signature. Called at every delivery, so it should return from memory.
   */
  byTenant(request: SecretsRequest): Tenant | undefined | Promise<Tenant | undefined>;
}

/** A list; a function that returns the list for a request; or an object that finds the tenant of a request. */
export type Secrets = readonly string[] | SecretsFunction | TenantSecrets;

/** The keys that may have signed a delivery, and whose they are. */
export interface SigningKeys {
  readonly keys: readonly KeyObject[];
  readonly tenant: TenantIdentity | undefined;
  /** There is no such tenant, and the keys belong to none: the same work is done, so that its time does not show who is a customer. */
  readonly isUnknown?: boolean;
}

/** The request as received; its path and headers are read only when a function asks for them. */
export interface ReceivedRequest {
  readonly headers: WebhookHeaders;
  /** The request target: a path or a whole URL. */
  readonly url?: string | undefined;
}

/** @throws {WebhookRejectedError} SECRETS_UNAVAILABLE */
export type KeySource = (request: ReceivedRequest) => SigningKeys | Promise<SigningKeys>;

const secretsTimeoutMs = 5_000;
const waitingMax = 256;
/** Each costs one hash of the body per forged request, so the secrets of many tenants cannot be one list. */
const secretsMax = 16;

/**
 * Turns the `secrets` option into keys: a list at once, a function at each call.
 *
 * A function that throws, takes longer than 5 s or returns something unusable is an outage of the receiver and not an
 * error of the sender: the response is 503, and the delivery is sent again.
 *
 * @throws {ReceiverError} `SECRET_INVALID` at once when a listed secret cannot be right
 */
export function createKeySource(secrets: Secrets, clock: Clock): KeySource {
  const keysOf = createKeyCache();
  const resolve = createResolver(clock);
  if (isTenantSecrets(secrets)) {
    return (request) =>
      orUnavailable("secrets.byTenant", async () => {
        const tenant = await resolve("secrets.byTenant", () => secrets.byTenant(requestView(request)));
        ignorePromises(tenant);
        return tenantKeys(tenant, keysOf);
      });
  }
  if (typeof secrets === "function") {
    return (request) =>
      orUnavailable("secrets", async () => {
        const texts = await resolve("secrets", () => secrets(requestView(request)));
        ignorePromises(texts);
        return { keys: keysOf(texts), tenant: undefined };
      });
  }
  const found = { keys: keysOf(secrets), tenant: undefined };
  return () => found;
}

/** True when the secrets depend on the tenant, and so do the rows. */
export function isTenantSecrets(secrets: unknown): secrets is TenantSecrets {
  return typeof (secrets as TenantSecrets | null | undefined)?.byTenant === "function";
}

const tenantSchema = strictOptions<Tenant>()({
  id: nameOption,
  workspaceId: textOption,
  secrets: sharedOptions.secrets,
});

const unknownTenant: Tenant = {
  id: "unknown",
  workspaceId: "unknown",
  secrets: [`whsec_${randomBytes(32).toString("base64")}`],
};

function tenantKeys(
  given: Tenant | null | undefined,
  keysOf: (secrets: unknown) => readonly KeyObject[],
): SigningKeys {
  const isUnknown = given === undefined || given === null;
  const tenant = isUnknown ? unknownTenant : given;
  const { id, workspaceId, secrets } = parseOptions("secrets.byTenant", tenantSchema, tenant);
  return { keys: keysOf(secrets), tenant: { id, workspaceId }, isUnknown };
}

/** A promise within what a function returned is no secret; that it is rejected must not end the process. */
function ignorePromises(returned: unknown): void {
  for (const value of Object.values(returned ?? {}).flat()) callSafely(() => value);
}

async function orUnavailable(name: string, find: () => Promise<SigningKeys>): Promise<SigningKeys> {
  try {
    return await find();
  } catch (cause) {
    if (isWebhookRejectedError(cause)) throw cause;
    const message = isReceiverError(cause) ? cause.message : `${name}: the function failed`;
    throw new WebhookRejectedError("SECRETS_UNAVAILABLE", message, { cause });
  }
}

/** Each call that waits holds the body of a request. */
function createResolver(clock: Clock) {
  let waiting = 0;
  return async <Result>(name: string, call: () => Result | Promise<Result>): Promise<Result> => {
    if (waiting >= waitingMax) {
      throw new ReceiverError(
        "SECRETS_UNAVAILABLE",
        `${name}: ${waitingMax} calls of the function wait already`,
      );
    }
    const pending = call();
    // No timer for a function that returns from memory.
    if (typeof (pending as { then?: unknown } | null | undefined)?.then !== "function") return pending;
    waiting += 1;
    const timedOut = () =>
      new ReceiverError(
        "SECRETS_UNAVAILABLE",
        `${name}: the function did not resolve within ${secretsTimeoutMs} ms`,
      );
    try {
      return await withTimeout(Promise.resolve(pending), secretsTimeoutMs, clock, timedOut);
    } finally {
      waiting -= 1;
    }
  };
}

function requestView({ headers, url = "/" }: ReceivedRequest): SecretsRequest {
  return { path: pathOf(url), headers: { get: (name) => findHeader(headers, name) } };
}

function pathOf(url: string): string {
  const target = /^[a-z][a-z0-9+.-]*:\/\/[^/?#]*(.*)$/i.exec(url)?.[1] ?? url;
  return target.replace(/[?#].*$/s, "") || "/";
}

/** Keys of recently used lists: a list is checked when it is first seen, not at every delivery. */
function createKeyCache(): (secrets: unknown) => readonly KeyObject[] {
  const cache = new Map<string, readonly KeyObject[]>();
  return (secrets) => {
    const texts = checkList(secrets);
    const name = JSON.stringify(texts.map(String));
    const keys = cache.get(name) ?? texts.map((secret, index) => parseSecret(secret, `secrets[${index}]`));
    // The most recently used one is last.
    cache.delete(name);
    cache.set(name, keys);
    const [oldest] = cache.keys();
    if (cache.size > cachedListsMax && oldest !== undefined) cache.delete(oldest);
    return keys;
  };
}

const cachedListsMax = 1_000;

function checkList(secrets: unknown): readonly unknown[] {
  if (!Array.isArray(secrets) || secrets.length === 0) {
    const type = secrets instanceof Promise ? "a promise, which must be awaited" : typeof secrets;
    const found = Array.isArray(secrets) ? "an empty list" : secrets === null ? "null" : type;
    throw new ReceiverError(
      "SECRET_INVALID",
      `secrets: expected a list of at least one secret, a function, or an object with the function byTenant, got ${found}`,
    );
  }
  // What is left out of the list is undefined then.
  if (secrets.length <= secretsMax) return Array.from(secrets);
  throw new ReceiverError(
    "SECRET_INVALID",
    `secrets: expected at most ${secretsMax} secrets, got ${secrets.length}; for many tenants use { byTenant }`,
  );
}
