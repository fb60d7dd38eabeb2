// `pg` can send a statement before the result of the one before has come. It lets that be switched while a client is
// idle; older versions, and clients that wrap another driver, cannot do it.

import type { PostgresClient } from "../sql/postgres-pool.ts";

interface PipeliningClient extends PostgresClient {
  pipeline?: unknown;
  readonly connection?: { readonly stream?: { cork?(): void; uncork?(): void } };
}

/**
 * Returns what switches it back, or undefined where the client cannot do it now: a listener of the pool may have sent
 * something. Switching it back throws while a result is awaited.
 */
export function startPipelining(client: PipeliningClient): (() => void) | undefined {
  const { pipeline: before } = client;
  // Without the status a statement could be sent behind one that has ended the transaction.
  if (typeof before !== "boolean" || !client.getTransactionStatus) return undefined;
  try {
    client.pipeline = true;
  } catch {
    return undefined;
  }
  return () => {
    client.pipeline = before;
  };
}

/** What is sent before the next tick leaves in one write, which costs as much as executing a short statement. */
export function joinWrites({ connection }: PipeliningClient): void {
  const { stream } = connection ?? {};
  if (!stream?.cork) return;
  stream.cork();
  process.nextTick(() => stream.uncork?.());
}
