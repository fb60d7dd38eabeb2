import { describe, expect, it } from "vitest";
import { explain, partitionQueues, queueArguments } from "../../../../receiver-kit/rabbitmq/topology.ts";

const topology = { name: "hooks", version: 1, shards: 2, partitions: 2 };

describe("the queues of a topology", () => {
  it("are named by version, shard, number of shards and partition, so that unequal processes share none", () => {
    const names = (fields: Partial<typeof topology>) =>
      partitionQueues({ ...topology, ...fields }).map(({ queue }) => queue);
    const own = names({});
    expect(own).toEqual(["hooks.v1.s0of2.p0", "hooks.v1.s0of2.p1", "hooks.v1.s1of2.p0", "hooks.v1.s1of2.p1"]);
    for (const other of [names({ shards: 3 }), names({ version: 2 }), names({ name: "other" })])
      expect(other.filter((name) => own.includes(name))).toEqual([]);
    const served = partitionQueues(topology, (shard) => shard === 1);
    expect(served.map(({ queue }) => queue)).toEqual(own.slice(2));
  });

  it("lose nothing: no limit of redeliveries drops a message, and what a policy drops is parked", () => {
    expect(queueArguments({ name: "hooks", replicas: 3, queueBytesMax: 1_000 })).toEqual({
      "x-queue-type": "quorum",
      "x-quorum-initial-group-size": 3,
      "x-single-active-consumer": true,
      "x-overflow": "reject-publish",
      "x-max-length-bytes": 1_000,
      "x-delivery-limit": 2_147_483_647,
      "x-dead-letter-exchange": "",
      "x-dead-letter-routing-key": "hooks.parked",
      "x-dead-letter-strategy": "at-least-once",
    });
  });
});

describe("an error of the broker", () => {
  const errorOf = (code: number) => Object.assign(new Error("from the broker"), { code });

  it.each([
    [406, "raise version"],
    [404, "it does not exist"],
    [403, "may not configure it"],
    [503, "rabbitmq_consistent_hash_exchange"],
  ])("with the code %i is one of the set-up, whose message says: %s", (code, remedy) => {
    expect(explain("queue", errorOf(code))).toMatchObject({
      code: "BROKER_SETUP_INVALID",
      message: expect.stringMatching(new RegExp(`^rabbitmq: queue: .*${remedy}.*from the broker`)),
    });
  });

  it("with another code is passed on", () => {
    const error = errorOf(320);
    expect(explain("queue", error)).toBe(error);
  });
});
