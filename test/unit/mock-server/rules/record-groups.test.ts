import { expect, it } from "vitest";
import { newestFirst, tasksOfWorkspace } from "../../../../mock-server/rules/record-groups.ts";
import { startTask } from "../../../../mock-server/rules/tasks/tasks.ts";
import { createTestWorld } from "../../../support/mock-world.ts";

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
