import { mockTest } from "@workspace-tasks/mock-server/vitest";
import { describe, expect } from "vitest";
import { defaultSettings } from "../../../../mock-server/settings/settings.ts";
import { callGraphql, checkedControlClient, workspaceToken } from "../../../support/mock-client.ts";

const receiverUrl = "http://127.0.0.1:1/webhooks";

const it = mockTest.extend({
  mockOptions: {
    listen: false,
    clock: "virtual",
    receivers: new Map([[receiverUrl, () => new Response(null, { status: 503 })]]),
  },
});

const me = "{ me { __typename } }";

describe("PATCH /settings", () => {
  it("changes the given settings of a running mock and leaves the others", async ({ mock }) => {
    const control = checkedControlClient(mock);
    const settings = await control.changeSettings({ tokenLifetimeSeconds: 10 });
    expect(settings).toEqual({ ...defaultSettings, tokenLifetimeSeconds: 10 });
    await control.changeSettings({ unauthenticatedStatus: 401 });
    expect(await control.getSettings()).toMatchObject({
      tokenLifetimeSeconds: 10,
      unauthenticatedStatus: 401,
    });
    const token = await workspaceToken(mock);
    await callGraphql(mock, me, { token });
    await mock.clock.advance("12s");
    await expect(callGraphql(mock, me, { token })).rejects.toThrow("Unauthorized");
  });

  it("applies a rate limit to requests that were counted before", async ({ mock }) => {
    const token = await workspaceToken(mock);
    for (let count = 0; count < 3; count++) await callGraphql(mock, me, { token });
    await mock.control.changeSettings({ rateLimit: { requests: 3 } });
    await expect(callGraphql(mock, me, { token })).rejects.toThrow("RATE_LIMITED");
    await mock.control.changeSettings({ rateLimit: { requests: 4 } });
    await callGraphql(mock, me, { token });
  });

  it("applies a retry schedule to the next wait", async ({ mock }) => {
    await mock.control.createEndpoint({ url: receiverUrl, eventTypes: ["task.running"] });
    await mock.control.changeSettings({ delivery: { scheduleMs: [0, 100, 200] } });
    await mock.control.startTask({ taskType: "BINDER", progression: "manual" });
    await mock.clock.advance("300ms");
    expect((await mock.control.listDeliveries()).data).toMatchObject([{ status: "failed", attemptCount: 3 }]);
  });

  it("leaves running tasks their plan", async ({ mock }) => {
    const { taskId } = await mock.control.startTask({ taskType: "TAX_REVIEW" });
    await mock.control.changeSettings({
      tasks: { plans: { TAX_REVIEW: { progression: "timed", stages: [{ type: "other", durationMs: 1 }] } } },
    });
    await mock.clock.advance("3s");
    const { subTasks } = await mock.control.getTask(taskId);
    expect(subTasks.map(({ subTaskType }) => subTaskType)).toEqual(["reconciliation", "review"]);
    const next = await mock.control.startTask({ taskType: "TAX_REVIEW" });
    expect((await mock.control.getTask(next.taskId)).subTasks).toMatchObject([{ subTaskType: "other" }]);
  });

  it("bounds the journal at once", async ({ mock }) => {
    for (let count = 0; count < 4; count++) await callGraphql(mock, "{ webhookEventCatalog { name } }");
    await mock.control.changeSettings({ bounds: { journalEntriesMax: 2 } });
    expect((await mock.control.listRequests()).data.map(({ sequence }) => sequence)).toEqual([3, 4]);
  });

  it("rejects what needs a restart, and changes nothing then", async ({ mock }) => {
    const changes = { tokenLifetimeSeconds: 5, seedData: { workspaces: [{ name: "Acme" }] } };
    await expect(mock.control.changeSettings(changes)).rejects.toMatchObject({
      code: "CONFLICT",
      message: expect.stringContaining("POST /seed-data"),
    });
    expect(await mock.control.getSettings()).toEqual(defaultSettings);
  });
});

it("a reset returns to the settings of the start, restoring a snapshot keeps those in force", async ({
  mock,
}) => {
  await mock.control.changeSettings({ tokenLifetimeSeconds: 10 });
  await mock.control.restoreSnapshot(await mock.control.getSnapshot());
  expect((await mock.control.getSettings()).tokenLifetimeSeconds).toBe(10);
  await mock.control.reset();
  expect(await mock.control.getSettings()).toEqual(defaultSettings);
});

it("a world and a copy of it have settings of their own", async ({ mock }) => {
  const world = await mock.worlds.create({ name: "a", settings: { tokenLifetimeSeconds: 20 } });
  await world.control.changeSettings({ tokenLifetimeSeconds: 30 });
  const copy = await mock.worlds.create({ from: "a" });
  expect((await copy.control.getSettings()).tokenLifetimeSeconds).toBe(30);
  expect((await mock.control.getSettings()).tokenLifetimeSeconds).toBe(180);
  const wrong = { settings: { tokenLifetimeSecond: 1 } as object };
  await expect(mock.worlds.create(wrong)).rejects.toThrow("did you mean tokenLifetimeSeconds?");
});
