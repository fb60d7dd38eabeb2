import { ReceiverError } from "../errors.ts";
import type { InboxStore } from "../inbox/inbox.ts";

export interface ShardPlace {
  /** From 0. */
  readonly shard: number;
  /** How many there are. */
  readonly shards: number;
}

const mark = "shard";

/** @throws {ReceiverError} `CONFIGURATION_INVALID` when the inbox is that of another shard, or of another number of shards */
export async function keepShard(
  inbox: InboxStore,
  source: string,
  { shard, shards }: ShardPlace,
): Promise<void> {
  const wanted = `${shard} of ${shards}`;
  const { marks } = await inbox.readMarks(source);
  const found = marks[mark] ?? (await inbox.keepMark(source, mark, wanted));
  if (found === wanted) return;
  throw new ReceiverError(
    "CONFIGURATION_INVALID",
    `the inbox holds shard ${found} and not ${wanted}: pass the receivers in the order of their shards, ` +
      "with the number of shards that the inboxes began with, or new inboxes",
  );
}
