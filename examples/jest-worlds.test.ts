// The fixture for Jest, with the hooks of vitest.

import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from "vitest";

// Jest's hooks are globals.
const hooks = { afterAll, afterEach, beforeAll, beforeEach };
Object.assign(globalThis, hooks);
afterAll(() => {
  for (const name of Object.keys(hooks)) Reflect.deleteProperty(globalThis, name);
});

// #region jest
import { worldPerTest } from "@workspace-tasks/mock-server/jest";
import { createClient } from "@workspace-tasks/sdk";

const fixture = worldPerTest({ world: { clock: "virtual" } });

it("has a world of its own", async () => {
  const { baseUrl, apiKey, clock, control } = fixture.world;
  await using client = createClient({ baseUrl, apiKey, clock });
  const { taskId } = await control.startTask({ taskType: "TAX_PREP" });
  const task = await clock.runUntil(client.tasks.waitFor(taskId));
  expect(task.status).toBe("COMPLETED");
});
// #endregion

it("has another world in the next test", async () => {
  const { data } = await fixture.world.control.listTasks();
  expect(data).toEqual([]);
  expect(fixture.mock.worlds.list()).toHaveLength(1);
});
