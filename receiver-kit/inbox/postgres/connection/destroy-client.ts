import type { PostgresClient } from "../sql/postgres-pool.ts";

/** `release(true)` alone says goodbye and waits for the answer, with the socket open, when no query is in progress. */
export function destroy(client: PostgresClient): void {
  client.release(true);
  const { connection } = client as { connection?: { readonly stream?: { destroy?(): unknown } } };
  connection?.stream?.destroy?.();
}
