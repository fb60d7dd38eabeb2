import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  checkListLength,
  checkSlice,
  decodeIterator,
  encodeIterator,
  findRecord,
  newestFirst,
  tasksOfWorkspace,
  touch,
} from "../../../../mock-server/rules/records.ts";
import { ServiceError } from "../../../../mock-server/rules/service-error.ts";
import { startTask } from "../../../../mock-server/rules/tasks.ts";
import { createTestWorld } from "../../../support/mock-world.ts";

const workspaceId = "019bc186-de00-7000-8000-2063607191f4";
const lastId = "019bc186-de00-7000-8000-479e3dd791a5";

describe("decodeIterator", () => {
  it("returns the encoded id", () => {
    const iterator = encodeIterator(workspaceId, lastId);
    expect(iterator).toMatch(/^[\w-]+$/);
    expect(decodeIterator(workspaceId, iterator)).toBe(lastId);
  });

  it("throws for a cursor of another workspace", () => {
    const iterator = encodeIterator(workspaceId, lastId);
    expect(() => decodeIterator(lastId, iterator)).toThrow("Invalid iterator");
  });

  it("throws for another spelling of a cursor, and for one without an id", () => {
    const iterator = encodeIterator(workspaceId, lastId);
    const others = ["=", "!", " ", "\n"].map((more) => iterator + more);
    for (const other of [...others, encodeIterator(workspaceId, "undefined"), ""]) {
      expect(() => decodeIterator(workspaceId, other)).toThrow("Invalid iterator");
    }
  });

  it("throws a ServiceError for any other text", () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.base64String()), (text) => {
        expect(() => decodeIterator(workspaceId, text)).toThrow(ServiceError);
      }),
    );
  });
});

it("a list has one item at least and as many as the setting says at most, and no offset before its start", () => {
  const { world } = createTestWorld();
  const { listItemsMax } = world.settings.bounds;
  const isAccepted = (check: () => void) => {
    try {
      check();
      return true;
    } catch (error) {
      expect(error).toBeInstanceOf(ServiceError);
      return false;
    }
  };
  const slices = [0, 1, listItemsMax, listItemsMax + 1].map((limit) => ({ offset: 0, limit }));
  const accepted = [...slices, { offset: -1, limit: 1 }].map((slice) =>
    isAccepted(() => checkSlice(world, slice)),
  );
  expect(accepted).toEqual([false, true, true, false, false]);
  const lists = [null, Array(listItemsMax), Array(listItemsMax + 1)];
  expect(lists.map((list) => isAccepted(() => checkListLength(world, "ids", list)))).toEqual([
    true,
    true,
    false,
  ]);
});

it("two changes of a record have two times, also within one millisecond", () => {
  const { world } = createTestWorld();
  const nowMs = world.clock.now();
  const times = [0, nowMs].map((updatedAtMs) => {
    const record = { updatedAtMs };
    touch(world, record);
    return record.updatedAtMs;
  });
  expect(times).toEqual([nowMs, nowMs + 1]);
});

it("a group has what was added since, in order of creation, and each world has its own", () => {
  const [one, other] = [createTestWorld(), createTestWorld()];
  const start = () =>
    startTask(one.world, { workspaceId: one.workspaceId, clientId: one.clientId, type: "BINDER" }).id;
  const ids = () => tasksOfWorkspace(one.world, one.workspaceId).map(({ id }) => id);
  expect(ids()).toEqual([]);
  const first = [start(), start()];
  expect(ids()).toEqual(first);
  expect(ids()).toEqual(first);
  const all = [...first, start(), start(), start()];
  expect(ids()).toEqual(all);
  expect(tasksOfWorkspace(one.world, "another")).toEqual([]);
  expect(tasksOfWorkspace(other.world, other.workspaceId)).toEqual([]);
});

it("the first record that matches is found, in order of creation", () => {
  const records = new Map([3, 1, 2].map((number) => [`record-${number}`, number]));
  expect(findRecord(records, (number) => number < 3)).toBe(1);
  expect(findRecord(records, (number) => number > 3)).toBeUndefined();
});

it("the newest are found without reading the others", () => {
  const group = Array.from({ length: 1_000 }, (_, index) => index);
  let read = 0;
  const isEven = (item: number) => {
    read++;
    return item % 2 === 0;
  };
  expect(newestFirst(group, { offset: 2, limit: 3 }, isEven)).toEqual([994, 992, 990]);
  expect(read).toBe(10);
  expect(newestFirst(group, { offset: 999, limit: 3 })).toEqual([0]);
  expect(newestFirst(group, { offset: 0, limit: 0 })).toEqual([]);
});
