// A task belongs to one shard, whatever the number of queues: ids, ordering heads and rows of a task must stay in one
// inbox. So this hash never changes.

import type { ReconcileClient } from "@workspace-tasks/receiver-kit";

/** Holds the bytes of short keys: a buffer for each delivery would cost more than its hash. */
const scratch = Buffer.alloc(512);

/**
 * The shard of a task, or of a delivery without a task by its `webhook-id`: the same in every process and version.
 *
 * FNV-1a over UTF-8, and the final mixing of MurmurHash3, because few of its low bits depend on the last bytes alone.
 */
export function shardOf(key: string, shards: number): number {
  const length = key.length * 3 > scratch.length ? 0 : scratch.write(key);
  const bytes = length === 0 ? Buffer.from(key) : scratch;
  let hash = 0x811c9dc5;
  for (let index = 0; index < (length || bytes.length); index++)
    hash = Math.imul(hash ^ (bytes[index] as number), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return ((hash ^ (hash >>> 16)) >>> 0) % shards;
}

/**
 * The client as one shard's `reconcile` needs it: only the tasks of that shard, so that no state is written in two.
 *
 * @example examples/receiver-rabbitmq.ts#reconcile
 * ```ts
 * for (const [shard, receiver] of receivers.entries()) {
 *   await receiver.reconcile(clientOfShard(client, { shard, shards: receivers.length }));
 * }
 * ```
 */
export function clientOfShard(
  client: ReconcileClient,
  { shard, shards }: { readonly shard: number; readonly shards: number },
): ReconcileClient {
  const { tasks } = client;
  async function* list(options: Parameters<ReconcileClient["tasks"]["list"]>[0]) {
    for await (const task of tasks.list(options)) if (shardOf(task.id, shards) === shard) yield task;
  }
  return { tasks: { list }, ...(client.me && { me: () => client.me?.() as PromiseLike<unknown> }) };
}
