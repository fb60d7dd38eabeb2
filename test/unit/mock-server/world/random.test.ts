import { describe, expect, it } from "vitest";
import { nodeHashing } from "../../../../mock-server/node/platform.ts";
import { createRandomStreams } from "../../../../mock-server/world/random.ts";

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-([78])[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

describe("random streams", () => {
  it("repeat for the same seed and differ for another", () => {
    const draw = (seed: number) => {
      const random = createRandomStreams(seed, nodeHashing);
      return [
        random.number("a"),
        random.uuid("ids", 5),
        Buffer.from(random.bytes("secrets", 40)).toString("hex"),
      ];
    };
    expect(draw(1)).toEqual(draw(1));
    expect(draw(1)).not.toEqual(draw(2));
  });

  it("have the same values in every release, so that snapshots and recorded ids stay valid", () => {
    const random = createRandomStreams(42, nodeHashing);
    expect([random.uuid("task", 1_768_478_400_000), random.uuid("task", 1_768_478_400_000)]).toEqual([
      "019bc186-de00-7000-8000-b14e37a1083b",
      "019bc186-de00-7000-8001-1ec3321d592f",
    ]);
    expect(random.number("n")).toBe(0.16285489019957566);
    expect(Buffer.from(random.bytes("s", 40)).toString("hex")).toBe(
      "371a094dc8a0db1eac583c4701cb019148fa563532294bcb32bb5921c6410063281497fa8c204a1d",
    );
    expect(Buffer.from(random.bytesOf("key", 4)).toString("hex")).toBe("91b21131");
    expect(random.uuidOf("task/1/RUNNING")).toBe("d1f746b9-33c6-8218-9a3a-e7289c43d146");
    random.bytes("t", 32);
    expect(random.position()).toEqual({ task: 2, n: 1, s: 2, t: 1 });
    random.restore({ task: 2 ** 26 - 1 });
    expect(random.uuid("task", 0)).toBe("00000000-0000-7fff-bfff-f681e99dadab");
  });

  it("return ids that sort in the order in which they were drawn, also within one millisecond", () => {
    const random = createRandomStreams(3, nodeHashing);
    const ids = Array.from({ length: 20_000 }, (_, index) =>
      random.uuid("ids", 1_000 + Math.floor(index / 9_000)),
    );
    expect(ids).toEqual(ids.toSorted());
    expect(new Set(ids).size).toBe(ids.length);
    for (const id of [ids[0], ids[16_383], ids[16_384]]) expect(id).toMatch(uuid);
  });

  it("continue from a restored position", () => {
    const original = createRandomStreams(9, nodeHashing);
    original.number("a");
    const copy = createRandomStreams(9, nodeHashing);
    copy.restore(original.position());
    expect(copy.number("a")).toBe(original.number("a"));
  });

  it("return numbers in [0, 1) over the whole range", () => {
    const random = createRandomStreams(4, nodeHashing);
    const numbers = Array.from({ length: 2_000 }, () => random.number("n"));
    expect(numbers.every((number) => number >= 0 && number < 1)).toBe(true);
    const mean = numbers.reduce((sum, number) => sum + number, 0) / numbers.length;
    expect(Math.abs(mean - 0.5)).toBeLessThan(0.03);
  });
});

it("uuidOf returns the same UUID for the same name only", () => {
  const [{ uuidOf }, other] = [createRandomStreams(1, nodeHashing), createRandomStreams(2, nodeHashing)];
  expect(uuidOf("task/1/RUNNING")).toMatch(uuid);
  expect(uuidOf("task/1/RUNNING")).toBe(other.uuidOf("task/1/RUNNING"));
  expect(uuidOf("task/1/RUNNING")).not.toBe(uuidOf("task/1/FAILED"));
});
