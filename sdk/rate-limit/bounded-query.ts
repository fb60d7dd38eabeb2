import { withTimeout } from "../call/with-timeout.ts";
import { systemClock } from "../clock.ts";

// A connection can die without a word, and TCP notices after many minutes. So every query has a time limit: a client
// that does not respond is destroyed, and so are the others that have been silent as long before they are used. A
// statement that timed out limits itself on the server, too, until it succeeds: the server may still execute what the
// client no longer waits for, and each repetition would add a connection.

export interface PostgresClient {
  query(text: string, values?: unknown[]): Promise<{ readonly rows: readonly unknown[] }>;
  release(destroy?: boolean): void;
  on(event: "error", listener: () => void): unknown;
  removeListener(event: "error", listener: () => void): unknown;
}

export interface PostgresPool {
  connect(): Promise<PostgresClient>;
}

export type Query = (text: string, values?: unknown[]) => Promise<readonly unknown[]>;

/** Runs statements on clients of the pool. @param limitMs for a client to be available, and again for it to respond */
export function createBoundedQuery(pool: PostgresPool, limitMs: number): Query {
  const respondedAtMs = new WeakMap<PostgresClient, number>();
  const slow = new Set<string>();
  const limit = { timeoutMs: limitMs, clock: systemClock };
  let distrustedBeforeMs = Number.NEGATIVE_INFINITY;

  const isTrusted = (client: PostgresClient) =>
    (respondedAtMs.get(client) ?? Number.POSITIVE_INFINITY) >= distrustedBeforeMs;

  async function checkOut(): Promise<PostgresClient> {
    for (;;) {
      const client = await withTimeout(() => pool.connect(), {
        ...limit,
        createError: () => new Error(`no client of the pool was available within ${limitMs} ms`),
        // It belongs to the pool.
        onLate: (late) => late.release(),
      });
      if (isTrusted(client)) return client;
      destroy(client);
    }
  }

  return async (text, values) => {
    const client = await checkOut();
    let isBroken = false;
    // An `error` event without a listener would end the process.
    const onError = () => {
      isBroken = true;
    };
    client.on("error", onError);
    const run = async () => {
      if (!slow.has(text)) return client.query(text, values);
      await client.query(`begin; set local statement_timeout = ${Math.ceil(limitMs * 0.9)}`);
      const result = await client.query(text, values);
      await client.query("commit");
      return result;
    };
    try {
      const createError = () => {
        slow.add(text);
        distrustedBeforeMs = systemClock.monotonic() - limitMs / 2;
        return new Error(`the database did not respond within ${limitMs} ms`);
      };
      const { rows } = await withTimeout(run, { ...limit, createError });
      slow.delete(text);
      respondedAtMs.set(client, systemClock.monotonic());
      return rows;
    } catch (error) {
      isBroken = true;
      throw error;
    } finally {
      client.removeListener("error", onError);
      if (isBroken) destroy(client);
      else client.release();
    }
  };
}

/** `release(true)` alone waits for the other side, with the socket open, when no query is in progress. */
function destroy(client: PostgresClient): void {
  client.release(true);
  const { connection } = client as { connection?: { readonly stream?: { destroy?(): unknown } } };
  connection?.stream?.destroy?.();
}
