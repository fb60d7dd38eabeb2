import type { ReconcilableTask, ReconcileClient } from "@workspace-tasks/receiver-kit";
import { clientOfShard, shardOf } from "@workspace-tasks/receiver-rabbitmq";
import { describe, expect, it } from "vitest";

describe("shardOf", () => {
  it("is the same in every version: rows and ordering heads of a task stay where they are", () => {
    const keys = ["", "a", "task-1", "5b0d7c1e-8f0a-4a55-9d0a-1f3c6a7e2b11", "Grüße 🌍"];
    expect(keys.map((key) => shardOf(key, 1_000))).toEqual([923, 715, 129, 343, 275]);
  });

  it("spreads ids over the shards evenly, also those that differ in the last character", () => {
    for (const shards of [2, 3, 4, 8]) {
      const counts = Array.from({ length: shards }, () => 0);
      for (let n = 0; n < 40_000; n++) counts[shardOf(`task-${n}`, shards)]! += 1;
      for (const count of counts) expect(Math.abs(count / (40_000 / shards) - 1)).toBeLessThan(0.05);
    }
  });
});

it("clientOfShard lists each task in one shard, also named tasks", async () => {
  const all = Array.from({ length: 50 }, (_, n) => ({ id: `task-${n}` }) as ReconcilableTask);
  const client: ReconcileClient = {
    tasks: {
      async *list({ ids }) {
        yield* all.filter(({ id }) => ids?.includes(id) ?? true);
      },
    },
  };
  const ids = ["task-1", "task-2", "task-3", "task-4"];
  for (const [options, listed] of [
    [{}, all.map(({ id }) => id)],
    [{ ids }, ids],
  ] as const) {
    for (const shard of [0, 1, 2]) {
      const found: string[] = [];
      for await (const { id } of clientOfShard(client, { shard, shards: 3 }).tasks.list(options))
        found.push(id);
      expect(found).toEqual(listed.filter((id) => shardOf(id, 3) === shard));
    }
  }
});
