import { describe, expect } from "vitest";
import type { MockServer, MockServerOptions } from "workspace-tasks/mock-server";
import { mockTest } from "workspace-tasks/mock-server/vitest";
import { callControl, callGraphql, createEndpoint, workspaceToken } from "../../support/mock-client.ts";

const receiverUrl = "http://127.0.0.1:1/webhooks";
const inProcess: MockServerOptions = {
  listen: false,
  clock: "virtual",
  receivers: new Map([[receiverUrl, () => new Response(null, { status: 503 })]]),
};
const test = mockTest.extend({ mockOptions: inProcess });

const get = async (mock: MockServer, path: string) => (await callControl(mock, "GET", path)).json;

async function startTasks(mock: MockServer, count: number): Promise<string[]> {
  const ids: string[] = [];
  for (let index = 0; index < count; index++) {
    const { taskId } = await mock.admin.startTask({ taskType: "BINDER", progression: "manual" });
    ids.push(taskId);
  }
  return ids;
}

/** Every page of a list, following `before`. */
async function readAll(mock: MockServer, path: string, limit: number) {
  const pages: { data: { [field: string]: unknown }[]; done: boolean; iterator: string | null }[] = [];
  for (let before = ""; ; ) {
    const page = await get(mock, `${path}?limit=${limit}${before}`);
    pages.push(page);
    if (page.done) return pages;
    before = `&before=${encodeURIComponent(page.iterator)}`;
  }
}

describe("the overview", () => {
  test("counts everything and names what is due next, soonest first", async ({ mock }) => {
    await createEndpoint(mock, receiverUrl);
    const [, second = ""] = await startTasks(mock, 2);
    await mock.clock.advance("1s");
    await mock.admin.moveTask(second, { status: "COMPLETED" });
    const overview = await get(mock, "overview");
    expect(overview).toMatchObject({
      clients: 2,
      endpoints: 1,
      events: 3,
      tasks: { RUNNING: 1, COMPLETED: 1, FAILED: 0 },
      deliveries: { pending: 3, paused: 0, succeeded: 0, failed: 0, cancelled: 0 },
    });
    expect(overview.upcoming.map(({ attempt }: { attempt: number }) => attempt)).toEqual([2, 2, 2]);
    const times = overview.upcoming.map(({ at }: { at: string }) => at);
    expect(times).toEqual([...times].sort());
    expect(Date.parse(times[0])).toBeGreaterThan(mock.clock.now());
  });

  test("names the stages that end next among them", async ({ mock }) => {
    await createEndpoint(mock, receiverUrl);
    const { taskId } = await mock.admin.startTask({
      taskType: "TAX_PREP",
      progression: "timed",
      stages: [{ type: "reading", durationMs: 4_000 }],
    });
    await mock.clock.advance("1s");
    expect((await get(mock, "overview")).upcoming).toMatchObject([
      { kind: "stage", id: taskId, name: "reading", attempt: null },
      { kind: "attempt", name: "task.running", attempt: 2 },
    ]);
  });

  test("names ten that are due at most", async ({ mock }) => {
    await createEndpoint(mock, receiverUrl);
    await startTasks(mock, 12);
    await mock.clock.advance("1s");
    expect((await get(mock, "overview")).upcoming).toHaveLength(10);
  });
});

describe("lists for looking", () => {
  test("come newest first, in pages that are complete and free of repeats", async ({ mock }) => {
    await createEndpoint(mock, receiverUrl);
    const taskIds = await startTasks(mock, 7);
    const taskPages = await readAll(mock, "tasks", 3);
    expect(taskPages.map(({ data }) => data.length)).toEqual([3, 3, 1]);
    expect(taskPages.flatMap(({ data }) => data.map(({ taskId }) => taskId))).toEqual(taskIds.reverse());
    const deliveries = (await readAll(mock, "delivery-log", 3)).flatMap(({ data }) => data);
    expect(deliveries.map(({ subject }) => subject)).toEqual(taskIds);
  });

  test("of requests too, and what comes in meanwhile moves no page", async ({ mock }) => {
    for (let index = 0; index < 5; index++) await callGraphql(mock, "{ webhookEventCatalog { name } }");
    const first = await get(mock, "request-log?limit=2");
    await callGraphql(mock, "{ webhookEventCatalog { name } }");
    const second = await get(mock, `request-log?limit=2&before=${first.iterator}`);
    const sequences = [...first.data, ...second.data].map(({ sequence }: { sequence: number }) => sequence);
    expect(sequences).toEqual([5, 4, 3, 2]);
    expect((await get(mock, "request-log?limit=1&before=4")).data).toMatchObject([{ sequence: 3 }]);
    expect((await get(mock, "request-log?limit=1&before=99")).data).toMatchObject([{ sequence: 6 }]);
    expect((await readAll(mock, "request-log", 4)).map(({ data }) => data.length)).toEqual([4, 2]);
  });

  test("are filtered", async ({ mock }) => {
    const { endpointId } = await createEndpoint(mock, receiverUrl, ["task.failed"]);
    const [first = ""] = await startTasks(mock, 2);
    await mock.admin.moveTask(first, { status: "FAILED", errorMessage: "no" });
    expect((await get(mock, "tasks?status=FAILED")).data).toMatchObject([{ taskId: first, stages: 0 }]);
    expect((await get(mock, "tasks?type=TAX_PREP")).data).toEqual([]);
    expect((await get(mock, `delivery-log?endpointId=${endpointId}&event=task.failed`)).data).toHaveLength(1);
    expect((await get(mock, "delivery-log?status=succeeded")).data).toEqual([]);
  });
});

describe("a task's history", () => {
  test("tells its stages with their times, and the events and deliveries it caused", async ({ mock }) => {
    await createEndpoint(mock, receiverUrl, ["subtask.completed", "task.completed"]);
    const startedAtMs = mock.clock.now();
    const { taskId } = await mock.admin.startTask({
      taskType: "TAX_PREP",
      progression: "timed",
      stages: [
        { type: "reading", durationMs: 2_000 },
        { type: "thinking", durationMs: 3_000 },
      ],
    });
    await mock.clock.advance("4s");
    const time = (offsetMs: number) => new Date(startedAtMs + offsetMs).toISOString();
    const history = await get(mock, `tasks/${taskId}/history`);
    expect(history).toMatchObject({ taskId, status: "RUNNING", stages: 2, stagesDone: 1, completedAt: null });
    expect(history.subTasks).toMatchObject([
      { subTaskType: "reading", status: "COMPLETED", startedAt: time(0), completedAt: time(2_000) },
      { subTaskType: "thinking", status: "RUNNING", startedAt: time(2_000), completedAt: null },
    ]);
    expect(history).toMatchObject({ stageEndsAt: time(5_000), stagesAhead: [] });
    expect(history.events).toMatchObject([
      { name: "subtask.completed", occurredAt: time(2_000), deliveries: [{ status: "pending" }] },
    ]);
    const { eventId } = history.events[0];
    const event = await get(mock, `events/${eventId}`);
    const [{ id: deliveryId }] = event.deliveries;
    const { attempts } = await get(mock, `deliveries/${deliveryId}`);
    expect(event.body).toBe(attempts[0].requestBody);
  });

  test("tells what is planned, unless the task waits to be told", async ({ mock }) => {
    const stages = [
      { type: "reading", durationMs: 2_000 },
      { type: "thinking", durationMs: 3_000 },
    ];
    const timed = await mock.admin.startTask({ taskType: "BINDER", progression: "timed", stages });
    const [manual = ""] = await startTasks(mock, 1);
    expect(await get(mock, `tasks/${timed.taskId}/history`)).toMatchObject({
      stages: 2,
      stagesDone: 0,
      stageEndsAt: new Date(mock.clock.now() + 2_000).toISOString(),
      stagesAhead: [{ subTaskType: "thinking", durationMs: 3_000 }],
    });
    const waiting = await get(mock, `tasks/${manual}/history`);
    expect(waiting).toMatchObject({ stages: 0, stageEndsAt: null, stagesAhead: [] });
  });

  test.for(["tasks/none/history", "events/none", "endpoints/none/secrets"])(
    "%s is not there",
    async (path, { mock }) => {
      expect((await callControl(mock, "GET", path)).status).toBe(404);
    },
  );
});

describe("endpoints", () => {
  test("are listed without their secrets, which have a call of their own", async ({ mock }) => {
    const { endpointId, signingSecret: old } = await createEndpoint(mock, receiverUrl);
    const rotated = await callGraphql(
      mock,
      "mutation ($input: RotateWebhookEndpointSecretInput!) { rotateWebhookEndpointSecret(input: $input) { signingSecret } }",
      { token: await workspaceToken(mock), variables: { input: { endpointId, gracePeriodSeconds: 60 } } },
    );
    const current = rotated.rotateWebhookEndpointSecret.signingSecret;
    const states = async () =>
      (await get(mock, "endpoints")).data[0].secrets.map(({ state }: { state: string }) => state);

    const listed = await get(mock, "endpoints");
    expect(listed.data).toMatchObject([{ id: endpointId, workspace: "Example Tax Firm", enabled: true }]);
    expect(JSON.stringify(listed)).not.toContain("whsec_");
    expect(await states()).toEqual(["current", "grace"]);
    const { data } = await get(mock, `endpoints/${endpointId}/secrets`);
    expect(data.map(({ secret }: { secret: string }) => secret)).toEqual([current, old]);
    await mock.clock.advance("61s");
    expect(await states()).toEqual(["current", "expired"]);
  });
});
