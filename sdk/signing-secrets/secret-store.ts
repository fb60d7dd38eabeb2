import type { CallScope } from "../call/call-scope.ts";
import { FailureError, failure } from "../call/failure.ts";

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
