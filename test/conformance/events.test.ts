import { Ajv } from "ajv";
import { describe, expect } from "vitest";
import { isKnownEvent, parseEvent } from "workspace-tasks/events";
import type { SetTaskStatusInput } from "workspace-tasks/mock-server";
import { it, mockTest, useService } from "./harness.ts";
import { subscribe } from "./subscriber.ts";

const service = useService();

const catalogQuery = `{ webhookEventCatalog { name description version status taskTypes payloadSchema } }`;
const catalogTypes = ["BINDER", "TAX_PREP", "TAX_REVIEW", "TAX_ADVISOR", "TAX_PREP_LITE"];

type Entry = {
  name: string;
  description: string;
  version: string;
  status: string;
  taskTypes: string[];
  payloadSchema: Record<string, unknown>;
};

async function readCatalog(): Promise<Entry[]> {
  const response = await service.graphql(catalogQuery, {}, { token: null });
  return response.data.webhookEventCatalog;
}

const startTask = (workspaceId: string, task: Record<string, unknown> = {}): Promise<{ taskId: string }> =>
  service.control.startTask({ workspaceId, taskType: "TAX_PREP", progression: "manual", ...task });

const setTaskStatus = (taskId: string, move: SetTaskStatusInput) =>
  service.control.setTaskStatus(taskId, move);

const taskFields = [
  "id",
  "event",
  "version",
  "occurredAt",
  "workspaceId",
  "clientId",
  "taskId",
  "taskType",
  "status",
  "errorMessage",
  "taxPrepResult",
  "customerError",
].sort();

const stageFields = [
  ...taskFields.filter((name) => name !== "taxPrepResult" && name !== "customerError"),
  "subTaskId",
  "subTaskType",
].sort();

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

describe("C1 C2 C3 the event catalog", () => {
  it("C1 the catalog is public and lists the six events", async () => {
    const catalog = await readCatalog();
    expect(catalog.map(({ name }) => name)).toEqual(
      expect.arrayContaining([
        "task.running",
        "task.completed",
        "task.failed",
        "subtask.completed",
        "subtask.failed",
        "documents.synced",
      ]),
    );
    const expected = { "task.running": "RUNNING", "task.completed": "COMPLETED", "subtask.failed": "FAILED" };
    for (const [name, status] of Object.entries(expected)) {
      const entry = catalog.find((candidate) => candidate.name === name);
      expect(entry).toMatchObject({ version: "2", status, taskTypes: catalogTypes });
      expect(entry?.description).not.toBe("");
    }
  });

  it("C2 each payload schema is valid JSON Schema Draft 7", async () => {
    for (const { name, payloadSchema } of await readCatalog()) {
      expect(payloadSchema["$schema"], name).toMatch(/draft-07/);
      expect(new Ajv({ strict: false }).validateSchema(payloadSchema), name).toBe(true);
    }
  });

  mockTest("C2 every delivered body validates against the schema of its event", async () => {
    await using all = await subscribe(service);
    const { taskId } = await startTask(all.workspaceId);
    for (const status of ["COMPLETED", "FAILED"] as const) {
      await service.control.setStageStatus(taskId, { subTaskType: "review", status });
    }
    await setTaskStatus(taskId, { status: "FAILED", errorMessage: "no luck" });
    await setTaskStatus(taskId, { status: "RUNNING" });
    await setTaskStatus(taskId, { status: "COMPLETED" });
    const { connectionId } = await startConnection(all);
    await service.control.syncDocuments({
      connectionId,
      documents: [{ fileName: "w2.pdf" }],
      duplicateCount: 2,
    });

    const seen = (await all.receiver.received(7)).map(({ event }) => event);
    const catalog = await readCatalog();
    const ajv = new Ajv({ strict: false });
    for (const event of seen) {
      const schema = catalog.find(({ name }) => name === event.event)?.payloadSchema ?? false;
      expect(ajv.validate(schema, event), `${event.event}: ${ajv.errorsText()}`).toBe(true);
    }
    expect(new Set(seen.map(({ event }) => event))).toEqual(
      new Set([
        "task.running",
        "task.completed",
        "task.failed",
        "subtask.completed",
        "subtask.failed",
        "documents.synced",
      ]),
    );
    const schema = catalog.find(({ name }) => name === "task.running")?.payloadSchema ?? true;
    expect(ajv.validate(schema, { ...seen[0], taskId: 7 }), "the check can fail").toBe(false);
  });

  it("C3 documents.synced has no status and no task types", async () => {
    const entry = (await readCatalog()).find(({ name }) => name === "documents.synced");
    expect(entry).toMatchObject({ status: "", taskTypes: [], version: "2" });
  });
});

describe("E1 E2 E3 task events", () => {
  mockTest("E1 each change of a task's status emits the event with that suffix", async () => {
    await using all = await subscribe(service);
    const { taskId } = await startTask(all.workspaceId);
    await setTaskStatus(taskId, { status: "FAILED" });
    await setTaskStatus(taskId, { status: "RUNNING" });
    await setTaskStatus(taskId, { status: "COMPLETED" });
    const events = (await all.receiver.received(4)).map(({ event }) => event);
    expect(events.map(({ event, status }) => [event, status])).toEqual([
      ["task.running", "RUNNING"],
      ["task.failed", "FAILED"],
      ["task.running", "RUNNING"],
      ["task.completed", "COMPLETED"],
    ]);
    const times = events.map(({ occurredAt }) => occurredAt);
    expect(new Set(times).size, "no two changes of one task share a time").toBe(4);
    expect(times).toEqual([...times].sort());
  });

  mockTest("E1 a COMPLETED task cannot change and emits nothing", async () => {
    await using all = await subscribe(service);
    const { taskId } = await startTask(all.workspaceId, { progression: "immediate", stages: [] });
    await all.receiver.received(2);
    await expect(setTaskStatus(taskId, { status: "RUNNING" })).rejects.toMatchObject({ code: "CONFLICT" });
    await service.advance("1d");
    expect(all.receiver.deliveries).toHaveLength(2);
  });

  mockTest("E2 the envelope has exactly the fields of the interface", async () => {
    await using all = await subscribe(service);
    const { taskId } = await startTask(all.workspaceId, { taskType: "BINDER" });
    const [delivery] = await all.receiver.received(1);
    const event = delivery?.event;
    expect(Object.keys(event).sort()).toEqual(taskFields);
    expect(event).toMatchObject({
      version: "2",
      workspaceId: all.workspaceId,
      taskId,
      taskType: "BINDER",
      errorMessage: null,
    });
    expect(event.occurredAt).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  });

  mockTest("E2 a change has the same UUID for every endpoint and every retry", async () => {
    await using first = await subscribe(service);
    await using second = await subscribe(service, { within: first });
    const { taskId } = await startTask(first.workspaceId);
    await setTaskStatus(taskId, { status: "FAILED" });
    const ids = async (of: typeof first) => (await of.receiver.received(2)).map(({ event }) => event.id);
    const [runningId, failedId] = await ids(first);
    expect(await ids(second)).toEqual([runningId, failedId]);
    expect(runningId).toMatch(uuid);
    expect(failedId).toMatch(uuid);
    expect(failedId).not.toBe(runningId);

    const [delivery] = await first.deliveries();
    await service.control.replayDelivery(delivery?.id ?? "");
    const again = await first.receiver.received(3);
    expect(again[2]?.event.id).toBe(runningId);
  });

  mockTest("E3 only task.failed has errorMessage and customerError", async () => {
    await using all = await subscribe(service);
    const { taskId } = await startTask(all.workspaceId);
    const customerError = {
      code: "DOCUMENT_UNREADABLE",
      action: { type: "REUPLOAD", connectionId: null },
    };
    await setTaskStatus(taskId, { status: "FAILED", errorMessage: "page 3 is blank", customerError });
    await setTaskStatus(taskId, { status: "RUNNING" });
    await setTaskStatus(taskId, { status: "COMPLETED" });
    const events = (await all.receiver.received(4)).map(({ event }) => event);
    expect(events.map(({ errorMessage }) => errorMessage)).toEqual([null, "page 3 is blank", null, null]);
    expect(events.map((event) => event.customerError)).toEqual([null, customerError, null, null]);
  });

  mockTest("E3 task.failed within the retry grace period is sent with a customerError of null", async () => {
    await using all = await subscribe(service, { eventTypes: ["task.failed"] });
    const { taskId } = await startTask(all.workspaceId);
    await setTaskStatus(taskId, { status: "FAILED", errorMessage: "first try", withinRetryGrace: true });
    await setTaskStatus(taskId, { status: "RUNNING" });
    await setTaskStatus(taskId, { status: "FAILED", errorMessage: "given up", withinRetryGrace: false });
    const [early, late] = (await all.receiver.received(2)).map(({ event }) => event);
    expect(early).toMatchObject({ errorMessage: "first try", customerError: null });
    expect(late).toMatchObject({
      errorMessage: "given up",
      customerError: { code: "INTERNAL", action: { type: "CONTACT_SUPPORT" } },
    });
  });

  mockTest("E3 only task.completed of TAX_PREP has taxPrepResult", async () => {
    await using all = await subscribe(service);
    for (const taskType of ["TAX_PREP", "TAX_REVIEW"]) {
      const { taskId } = await startTask(all.workspaceId, { taskType });
      await setTaskStatus(taskId, { status: "COMPLETED" });
    }
    const events = (await all.receiver.received(4)).map(({ event }) => event);
    const results = events.filter(({ taxPrepResult }) => taxPrepResult !== null);
    expect(results.map(({ event, taskType }) => `${event} ${taskType}`)).toEqual(["task.completed TAX_PREP"]);
    expect(results[0].taxPrepResult).toEqual({
      taxYear: expect.any(Number),
      returnType: "F1040",
      summary: expect.any(String),
      documentCount: expect.any(Number),
      extractedFormCount: expect.any(Number),
      reviewItemCount: expect.any(Number),
      reviewItems: expect.any(Array),
    });
  });
});

describe("E4 stage events", () => {
  mockTest(
    "E4 the event of a finished stage has the task's envelope and the fields of the stage",
    async () => {
      await using all = await subscribe(service, { eventTypes: ["subtask.completed", "subtask.failed"] });
      const { taskId } = await startTask(all.workspaceId);
      const move = (subTaskType: string, status: SetTaskStatusInput["status"], errorMessage?: string) =>
        service.control.setStageStatus(taskId, { subTaskType, status, errorMessage });
      await move("tax-extraction", "RUNNING");
      await move("tax-extraction", "COMPLETED");
      await move("reconciliation", "FAILED", "totals differ");
      const events = (await all.receiver.received(2)).map(({ event }) => event);
      for (const event of events) expect(Object.keys(event).sort()).toEqual(stageFields);
      expect(events).toMatchObject([
        {
          event: "subtask.completed",
          status: "COMPLETED",
          subTaskType: "tax-extraction",
          errorMessage: null,
        },
        {
          event: "subtask.failed",
          status: "FAILED",
          subTaskType: "reconciliation",
          errorMessage: "totals differ",
        },
      ]);
      expect(events[0].subTaskId).not.toBe(events[1].subTaskId);
      await service.advance("1h");
      expect(all.receiver.deliveries, "the start of a stage emits no event").toHaveLength(2);
    },
  );
});

describe("E5 documents.synced", () => {
  mockTest("E5 documents.synced lists the documents of a pull and counts the existing ones", async () => {
    await using all = await subscribe(service, { eventTypes: ["documents.synced"] });
    const { connectionId } = await startConnection(all);
    const pull = (...fileNames: string[]) =>
      service.control.syncDocuments({
        connectionId,
        sourceExternalId: "folder-7",
        documents: fileNames.map((fileName) => ({ fileName, mimeType: "application/pdf" })),
      });
    await pull("w2.pdf", "1099.pdf");
    await pull("1099.pdf", "receipt.pdf");
    const [first, second] = (await all.receiver.received(2)).map(({ event }) => event);
    expect(first).toEqual({
      id: expect.stringMatching(uuid),
      event: "documents.synced",
      version: "2",
      occurredAt: expect.any(String),
      workspaceId: all.workspaceId,
      clientId: expect.any(String),
      connectionId,
      providerKey: "example",
      sourceExternalId: "folder-7",
      documents: [
        { inputDocumentId: expect.any(String), fileName: "w2.pdf", mimeType: "application/pdf" },
        { inputDocumentId: expect.any(String), fileName: "1099.pdf", mimeType: "application/pdf" },
      ],
      duplicateCount: 0,
    });
    expect(second).toMatchObject({ documents: [{ fileName: "receipt.pdf" }], duplicateCount: 1 });
    expect(second.id).not.toBe(first.id);
  });

  mockTest("E5 documents that a user adds emit no event", async () => {
    await using all = await subscribe(service);
    const { workspaceToken } = await service.tokens((await administratorOf(all.workspaceId)).apiKey);
    const upload = await fetch(`${service.baseUrl}/api/uploads`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${workspaceToken}`,
        "tus-resumable": "1.0.0",
        "upload-length": "0",
        "upload-metadata": `filename ${btoa("w2.pdf")},filetype ${btoa("application/pdf")}`,
      },
    });
    const uploadId = upload.headers.get("location")?.split("/").at(-1);
    const created = await all.call(
      "mutation ($input: CreateClientInput!) { createClient(input: $input) { taskId } }",
      {
        input: {
          name: "Ada",
          externalId: "ada",
          returnType: "F1040",
          taxYear: 2025,
          uploadIds: [uploadId],
        },
      },
    );
    expect(created.data.createClient.taskId).toEqual(expect.any(String));
    await service.advance("1h");
    const events = all.receiver.deliveries.map(({ event }) => event.event);
    expect(events).toContain("task.completed");
    expect(events).not.toContain("documents.synced");
  });
});

describe("E6 E7 subscriptions", () => {
  mockTest("E6 only an endpoint without eventTypes receives an event that is added later", async () => {
    await using all = await subscribe(service);
    await using some = await subscribe(service, { within: all, eventTypes: ["task.running"] });
    const name = "return.filed";
    await service.control.addCatalogEvent({ name, description: "A return was filed." });
    expect((await readCatalog()).map((entry) => entry.name)).toContain(name);
    await service.control.sendEvent({ workspaceId: all.workspaceId, name, payload: { filed: true } });
    const [delivery] = await all.receiver.received(1);
    expect(delivery?.event).toMatchObject({ event: name, workspaceId: all.workspaceId, filed: true });

    await using late = await subscribe(service, { within: all, eventTypes: [name] });
    await service.control.sendEvent({ workspaceId: all.workspaceId, name, payload: {} });
    expect(await late.receiver.received(1)).toHaveLength(1);
    expect(some.receiver.deliveries).toHaveLength(0);
  });

  mockTest("E6 an endpoint with eventTypes receives only those", async () => {
    await using failures = await subscribe(service, { eventTypes: ["task.failed"] });
    const { taskId } = await startTask(failures.workspaceId);
    await setTaskStatus(taskId, { status: "FAILED" });
    await setTaskStatus(taskId, { status: "RUNNING" });
    await service.advance("1h");
    expect(failures.receiver.deliveries.map(({ event }) => event.event)).toEqual(["task.failed"]);
  });

  mockTest("E7 events of one workspace never reach another's endpoints", async () => {
    await using ours = await subscribe(service);
    await using theirs = await subscribe(service);
    await startTask(ours.workspaceId, { progression: "immediate" });
    await startTask(theirs.workspaceId);
    await service.advance("1h");
    const workspaces = (of: typeof ours) =>
      new Set(of.receiver.deliveries.map(({ event }) => event.workspaceId));
    expect(workspaces(ours)).toEqual(new Set([ours.workspaceId]));
    expect(workspaces(theirs)).toEqual(new Set([theirs.workspaceId]));
    expect(theirs.receiver.deliveries).toHaveLength(1);
  });
});

describe("V1 later additions", () => {
  mockTest("V1 parseEvent accepts unknown stages, events, fields and codes", async () => {
    await using all = await subscribe(service);
    const { taskId } = await startTask(all.workspaceId, { taskType: "SALES_TAX" });
    await service.control.setStageStatus(taskId, {
      subTaskType: "quantum-audit",
      status: "COMPLETED",
    });
    await setTaskStatus(taskId, {
      status: "FAILED",
      customerError: {
        code: "NEW_CODE",
        action: { type: "NEW_ACTION", connectionId: null, deadline: "soon" },
      },
    });
    await service.control.addCatalogEvent({ name: "refund.paid" });
    await service.control.sendEvent({
      workspaceId: all.workspaceId,
      name: "refund.paid",
      payload: { amount: 12 },
    });
    const received = await all.receiver.received(4);
    const parsed = received.map(({ event }) => parseEvent(event));
    expect(parsed.every(({ ok }) => ok)).toBe(true);
    const events = parsed.flatMap((result) => (result.ok ? [result.event] : []));
    expect(events).toMatchObject([
      { event: "task.running", taskType: "SALES_TAX" },
      { event: "subtask.completed", subTaskType: "quantum-audit" },
      {
        event: "task.failed",
        customerError: { code: "NEW_CODE", action: { type: "NEW_ACTION", deadline: "soon" } },
      },
      { event: "refund.paid", amount: 12 },
    ]);
    expect(events.map(isKnownEvent)).toEqual([true, true, true, false]);
  });
});

async function administratorOf(workspaceId: string) {
  return service.key({ workspaceId, role: "admin" });
}

/** Through the gateway, as a partner would: the workspace's own token reaches it. */
async function startConnection(subscriber: { readonly workspaceId: string }) {
  const { apiKey } = await administratorOf(subscriber.workspaceId);
  const { workspaceToken } = await service.tokens(apiKey);
  const started = await service.graphql(
    `mutation ($workspaceId: ID!) {
      startProviderConnection(workspaceId: $workspaceId, providerKey: "example") { id }
    }`,
    { workspaceId: subscriber.workspaceId },
    { token: workspaceToken, router: "gateway" },
  );
  return { connectionId: started.data.startProviderConnection.id as string };
}
