import type { ControlApi, MockServer } from "@workspace-tasks/mock-server";
import { mockTest } from "@workspace-tasks/mock-server/vitest";
import { describe, expect } from "vitest";
import { callGraphql, checkedControlClient, workspaceToken } from "../../../support/mock-client.ts";

const receiverUrl = "http://127.0.0.1:1/webhooks";
const failingUrl = "http://127.0.0.1:1/failing";
const responseOf = (status: number) => () => new Response(null, { status });

const it = mockTest
  .extend({
    mockOptions: {
      listen: false,
      clock: "virtual",
      receivers: new Map([
        [receiverUrl, responseOf(204)],
        [failingUrl, responseOf(503)],
      ]),
    },
  })
  .extend<{ api: ControlApi }>({ api: async ({ mock }, use) => use(checkedControlClient(mock)) });

async function startTasks(api: ControlApi, count: number): Promise<string[]> {
  const ids: string[] = [];
  for (let index = 0; index < count; index++)
    ids.push((await api.startTask({ taskType: "BINDER", progression: "manual" })).taskId);
  return ids;
}

const timeAfter = (mock: MockServer, offsetMs: number) => new Date(mock.clock.now() + offsetMs).toISOString();

describe("tasks", () => {
  it("start in the workspace of their client", async ({ mock, api }) => {
    const { clientId } = await api.startTask({ taskType: "BINDER" });
    const second = await api.startTask({ taskType: "TAX_PREP", clientId });
    expect(second).toMatchObject({ clientId, workspaceId: mock.workspaceId });
    const unknown = api.startTask({ taskType: "BINDER", clientId: "unknown" });
    await expect(unknown).rejects.toMatchObject({ code: "NOT_FOUND" });
  });
});

describe("deliveries of a subject", () => {
  it("are those that a look at all deliveries finds, also after old ones were discarded and a restore", async ({
    mock,
    api,
  }) => {
    await mock.control.changeSettings({ bounds: { deliveriesMax: 7 } });
    await api.createEndpoint({ url: receiverUrl });
    await api.createEndpoint({ url: failingUrl });
    const ids = await startTasks(api, 5);
    const check = async () => {
      const { data } = await api.listDeliveries();
      expect(data).toHaveLength(7);
      const found = await Promise.all(ids.map((subject) => api.listDeliveries({ subject })));
      expect(found.map((page) => page.data)).toEqual(
        ids.map((id) => data.filter(({ subject }) => subject === id)),
      );
      const tasks = await Promise.all(ids.map((id) => api.getTask(id)));
      expect(tasks.map(({ events }) => events.flatMap(({ deliveries }) => deliveries))).toEqual(
        found.map((page) => page.data),
      );
      expect(tasks[0]?.events).toEqual([]);
    };
    await check();
    const snapshot = await api.getSnapshot();
    await api.reset();
    await api.restoreSnapshot(snapshot);
    await check();
  });
});

describe("GET /tasks/{id}", () => {
  const stages = [
    { type: "reading", durationMs: 2_000 },
    { type: "thinking", durationMs: 3_000 },
  ];

  it("returns the stages with their times, and the events and deliveries about the task", async ({
    mock,
    api,
  }) => {
    await api.createEndpoint({ url: failingUrl, eventTypes: ["subtask.completed", "task.completed"] });
    const [start, middle, end] = [0, 2_000, 5_000].map((offsetMs) => timeAfter(mock, offsetMs));
    const { taskId } = await api.startTask({ taskType: "TAX_PREP", progression: "timed", stages });
    await mock.clock.advance("4s");
    const task = await api.getTask(taskId);
    expect(task).toMatchObject({ taskId, status: "RUNNING", stages: 2, stagesDone: 1, completedAt: null });
    expect(task.subTasks).toMatchObject([
      { subTaskType: "reading", status: "COMPLETED", startedAt: start, completedAt: middle },
      { subTaskType: "thinking", status: "RUNNING", startedAt: middle, completedAt: null },
    ]);
    expect(task).toMatchObject({ stageEndsAt: end, stagesAhead: [] });
    expect(task.events).toMatchObject([
      { name: "subtask.completed", occurredAt: middle, deliveries: [{ status: "pending" }] },
    ]);
    const event = await api.getEvent(task.events[0]?.eventId ?? "");
    const { attempts } = await api.getDelivery(event.deliveries[0]?.id ?? "");
    expect(event.body).toBe(attempts[0]?.requestBody);
  });
});

describe("events", () => {
  it("are sent once they are in the catalog, which has a name once", async ({ api }) => {
    const name = "client.archived";
    await expect(api.sendEvent({ name, payload: {} })).rejects.toMatchObject({ code: "NOT_FOUND" });
    await api.addCatalogEvent({ name });
    await expect(api.addCatalogEvent({ name })).rejects.toMatchObject({ code: "CONFLICT" });
    await api.sendEvent({ name, payload: {} });
  });
});

describe("endpoints", () => {
  it("are listed without their secrets, but with the grace periods", async ({ mock, api }) => {
    const { id, signingSecret: old } = await api.createEndpoint({ url: receiverUrl });
    const { rotateWebhookEndpointSecret: rotated } = await callGraphql(
      mock,
      "mutation ($input: RotateWebhookEndpointSecretInput!) { rotateWebhookEndpointSecret(input: $input) { signingSecret } }",
      {
        token: await workspaceToken(mock),
        variables: { input: { endpointId: id, gracePeriodSeconds: 60 } },
      },
    );
    const states = async () => (await api.listEndpoints()).data[0]?.secrets.map(({ state }) => state);
    const listed = await api.listEndpoints();
    expect(listed.data).toMatchObject([{ id, workspace: "Example Tax Firm", enabled: true }]);
    expect(JSON.stringify(listed)).not.toContain("whsec_");
    expect(await states()).toEqual(["current", "grace"]);
    const { secrets } = await api.getEndpoint(id);
    expect(secrets.map(({ secret }) => secret)).toEqual([rotated.signingSecret, old]);
    await mock.clock.advance("61s");
    expect(await states()).toEqual(["current", "expired"]);
  });
});

describe("lists", () => {
  it.for(["asc", "desc"] as const)(
    "have pages that are complete and without repeats, order %s, while items are added",
    async (order, { api }) => {
      await api.createEndpoint({ url: receiverUrl });
      const taskIds = await startTasks(api, 7);
      const seen: string[] = [];
      for (let iterator: string | undefined; ; ) {
        const page = await api.listDeliveries({ order, limit: 3, iterator });
        seen.push(...page.data.map(({ subject }) => subject));
        if (seen.length === 3) taskIds.push(...(await startTasks(api, 1)));
        if (page.iterator === null) break;
        iterator = page.iterator;
      }
      expect(seen).toEqual(order === "asc" ? taskIds : taskIds.slice(0, 7).reverse());
    },
  );
});

describe("deliveries", () => {
  it("are filtered by endpoint, event, status and subject", async ({ mock, api }) => {
    const { id: endpointId } = await api.createEndpoint({ url: receiverUrl });
    const task = { taskType: "BINDER", progression: "immediate" } as const;
    const { taskId } = await api.startTask(task);
    await api.startTask(task);
    await mock.clock.settle();
    type Query = Parameters<ControlApi["listDeliveries"]>[0];
    const count = async (query?: Query) => (await api.listDeliveries(query)).data.length;
    const all = await count();
    expect(await count({ endpointId, status: "succeeded" })).toBe(all);
    expect(await count({ endpointId: "other" })).toBe(0);
    expect(await count({ event: "task.completed" })).toBe(2);
    expect(await count({ subject: taskId })).toBe(all / 2);
    for (const query of [{ status: "lost" }, { limit: 0 }, { limit: 1.5 }, { colour: "red" }])
      await expect(count(query as Query)).rejects.toMatchObject({ code: "QUERY_INVALID" });
  });
});

describe("faults", () => {
  it("for what does not exist are rejected with the nearest name, in process and over HTTP", async ({
    mock,
    api,
  }) => {
    const { id } = await mock.control.createEndpoint({ url: "https://receiver.example/webhooks" });
    const [{ id: keyId = "" } = {}] = (await mock.control.listApiKeys()).data;
    const onCalls = (rule: object) => ({ api: [{ ...rule, instructions: [{ kind: "html" as const }] }] });
    const onDeliveries = (rule: object) => ({
      deliveries: [{ ...rule, instructions: [{ kind: "drop" as const }] }],
    });
    const wrong = [
      [onCalls({ operation: "Me" }), "api.0.operation: unknown operation Me; did you mean me?"],
      [onCalls({ operation: "upload.put" }), "did you mean upload.post?"],
      [onCalls({ operation: "createWorkspace", router: "base" }), "createWorkspace of the base router"],
      [onCalls({ keyId: `${keyId}x` }), `api.0.keyId: unknown key ${keyId}x; did you mean ${keyId}?`],
      [onCalls({ keyId: mock.apiKey }), "listApiKeys and listPartnerKeys have the ids"],
      [onDeliveries({ event: "task.complete" }), "did you mean task.completed?"],
      [onDeliveries({ event: "report.ready" }), "addCatalogEvent"],
      [onDeliveries({ endpointId: `${id}x` }), `unknown endpoint ${id}x; did you mean ${id}?`],
      [{ api: [{ instructions: [{ kind: "gremlin" }] }] }, "api.0.instructions.0.kind: expected"],
    ] as const;
    for (const [faults, message] of wrong) {
      for (const control of [mock.control, api]) {
        const error: unknown = await control.setFaults(faults as never).catch((reason: unknown) => reason);
        expect(error).toMatchObject({ code: "BODY_INVALID", message: expect.stringContaining(message) });
        expect(String(error)).not.toContain(mock.apiKey);
      }
    }
    const misspelt = mock.worlds.create({ faults: onCalls({ operation: "mee" }) });
    await expect(misspelt).rejects.toThrow("did you mean me?");
    // A world that is created has an endpoint of its origin, and none that is registered later.
    const faults = onDeliveries({ endpointId: id });
    const { name } = await mock.worlds.create({ from: "main", faults });
    expect(mock.worlds.get(name)).toBeDefined();
    await expect(mock.worlds.create({ name: "wrong", faults })).rejects.toThrow("the world has no endpoint");
    expect(mock.worlds.get("wrong")).toBeUndefined();
  });
});

describe("the mock", () => {
  it("GET /overview counts everything and returns the next timers, equal ones as one, soonest first", async ({
    mock,
    api,
  }) => {
    await api.createEndpoint({ url: failingUrl });
    const [, second = ""] = await startTasks(api, 2);
    const { taskId } = await api.startTask({
      taskType: "TAX_PREP",
      progression: "timed",
      stages: [{ type: "reading", durationMs: 4_000 }],
    });
    await mock.clock.advance("1s");
    await api.setTaskStatus(second, { status: "COMPLETED" });
    const overview = await api.getOverview();
    expect(overview).toMatchObject({
      clients: 3,
      endpoints: 1,
      events: 4,
      tasks: { RUNNING: 2, COMPLETED: 1, FAILED: 0 },
      deliveries: { pending: 4, paused: 0, succeeded: 0, failed: 0, cancelled: 0 },
    });
    expect(overview.upcoming[0]).toMatchObject({ kind: "stage", id: taskId, name: "reading", attempt: null });
    const times = overview.upcoming.map(({ at }) => at);
    expect(times).toEqual([...times].sort());
    await startTasks(api, 12);
    await mock.clock.settle();
    const { upcoming, health, failedAttemptsLastHour } = await api.getOverview();
    expect(upcoming).toMatchObject([
      { kind: "stage", state: "scheduled", count: 1 },
      { kind: "attempt", state: "scheduled", count: 16, attempt: 2, url: failingUrl },
    ]);
    expect(failedAttemptsLastHour).toBe(16);
    expect(health).toMatchObject([{ attempts: 16, succeeded: 0, lastSuccessAt: null }]);
    expect(health[0]).toMatchObject({ failingSince: times[0] && "2026-01-15T12:00:00.000Z" });
    expect(health[0]?.recent).toHaveLength(16);
    for (let number = 0; number < 12; number++) {
      const stages = [{ type: `stage ${number}`, durationMs: 60_000 }];
      await api.startTask({ taskType: "BINDER", progression: "timed", stages });
    }
    expect((await api.getOverview()).upcoming).toHaveLength(10);
  });

  it("GET /clock and /overview show a timer that is due after the year 9999", async ({ mock, api }) => {
    const last = "9999-12-31T23:59:59.999Z";
    await mock.control.advanceClock({ by: Date.parse(last) - mock.clock.now() });
    const stages = [{ type: "long", durationMs: 86_400_000 }];
    const { taskId } = await mock.control.startTask({ taskType: "BINDER", progression: "timed", stages });
    // In this process first: a response with another time does not match its schema.
    for (const control of [mock.control, api]) {
      expect(await control.getHealth()).toMatchObject({ now: last });
      expect(await control.getClock()).toMatchObject({ now: last, nextTimerAt: last });
      expect((await control.getOverview()).upcoming).toMatchObject([{ kind: "stage", id: taskId, at: last }]);
    }
    await api.reset();
    await api.advanceClock({ by: "1s" });
    expect(await api.getHealth()).toMatchObject({ now: "2026-01-15T12:00:01.000Z" });
  });

  it("GET /uploads/{id} returns the bytes received", async ({ mock, api }) => {
    const headers = {
      "tus-resumable": "1.0.0",
      authorization: `Bearer ${await workspaceToken(mock)}`,
      "upload-length": "9",
      "upload-metadata": `filename ${btoa("w2.pdf")}`,
      "content-type": "application/offset+octet-stream",
    };
    await mock.fetch("/api/uploads", { method: "POST", headers, body: "abc" });
    const [upload] = (await api.listUploads()).data;
    expect(upload).toMatchObject({ fileName: "w2.pdf", lengthBytes: 9, offsetBytes: 3, completedAt: null });
    expect(await api.getUpload(upload?.id ?? "")).toEqual({ ...upload, contentBase64: btoa("abc") });
  });

  it.for(["getTask", "getEvent", "getEndpoint", "getDelivery", "getRequest", "getUpload"] as const)(
    "%s rejects an unknown id with NOT_FOUND",
    async (method, { api }) => {
      await expect(api[method]("unknown")).rejects.toMatchObject({ code: "NOT_FOUND" });
    },
  );
});
