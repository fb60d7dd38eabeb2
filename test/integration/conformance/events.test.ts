import type { SetTaskStatusInput } from "@workspace-tasks/mock-server";
import { Ajv } from "ajv";
import { describe, expect, it } from "vitest";
import { useService } from "./harness.ts";
import { done, mutation, type Variables } from "./operations.ts";
import { type Subscriber, subscribe } from "./subscriber.ts";

const service = useService();

const catalogQuery = `{ webhookEventCatalog { name description version status taskTypes payloadSchema } }`;

interface Entry {
  readonly name: string;
  readonly description: string;
  readonly payloadSchema: Readonly<Record<string, unknown>>;
}

async function readCatalog(): Promise<readonly Entry[]> {
  const response = await service.graphql(catalogQuery, {}, { token: null });
  return response.data.webhookEventCatalog;
}

const startTask = ({ workspaceId }: Subscriber, task: Variables = {}): Promise<{ taskId: string }> =>
  service.control.startTask({ workspaceId, taskType: "TAX_PREP", progression: "manual", ...task });

async function move(taskId: string, ...moves: readonly SetTaskStatusInput[]): Promise<void> {
  for (const each of moves) await service.control.setTaskStatus(taskId, each);
}
const failed = { status: "FAILED" } as const;
const running = { status: "RUNNING" } as const;
const completed = { status: "COMPLETED" } as const;

const eventsOf = async ({ receiver }: Subscriber, count: number) =>
  (await receiver.received(count)).map(({ event }) => event);

const startProviderConnection = mutation(
  service,
  "startProviderConnection",
  "$workspaceId: ID!, $providerKey: String!",
  "{ id }",
);
/** Through the gateway, as a partner would: the workspace's own token reaches it. */
async function startConnection({ workspaceId, admin }: Subscriber): Promise<string> {
  const options = { ...(await admin()), router: "gateway" } as const;
  return (await done(startProviderConnection({ workspaceId, providerKey: "example" }, options))).id;
}

const stageFields = ["id", "event", "version", "occurredAt", "workspaceId", "clientId", "taskId", "taskType"]
  .concat("status", "errorMessage", "subTaskId", "subTaskType")
  .sort();
const taskFields = stageFields
  .filter((name) => !name.startsWith("subTask"))
  .concat("taxPrepResult", "customerError")
  .sort();

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

describe("C2 the event catalog", () => {
  it("C2 each payload schema is valid JSON Schema Draft 7", async () => {
    for (const { name, payloadSchema } of await readCatalog()) {
      expect(payloadSchema["$schema"], name).toMatch(/draft-07/);
      expect(new Ajv({ strict: false }).validateSchema(payloadSchema), name).toBe(true);
    }
  });

  it("C2 every delivered body validates against the schema of its event", async () => {
    await using all = await subscribe(service);
    const { taskId } = await startTask(all);
    for (const status of ["COMPLETED", "FAILED"] as const)
      await service.control.setStageStatus(taskId, { subTaskType: "review", status });
    await move(taskId, { ...failed, errorMessage: "no luck" }, running, completed);
    const connectionId = await startConnection(all);
    const documents = [{ fileName: "w2.pdf" }];
    await service.control.syncDocuments({ connectionId, documents, duplicateCount: 2 });

    const seen = await eventsOf(all, 7);
    const catalog = await readCatalog();
    expect(new Set(seen.map(({ event }) => event))).toEqual(new Set(catalog.map(({ name }) => name)));
    const dateTime = (text: string) => !Number.isNaN(Date.parse(text));
    const ajv = new Ajv({
      strict: false,
      formats: { uuid: /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/, "date-time": dateTime },
    });
    const schemaOf = (event: string) => catalog.find(({ name }) => name === event)?.payloadSchema ?? {};
    for (const event of seen)
      expect(ajv.validate(schemaOf(event.event), event), `${event.event}: ${ajv.errorsText()}`).toBe(true);
    expect(ajv.validate(schemaOf("task.running"), { ...seen[0], taskId: 7 }), "it can fail").toBe(false);
  });
});

describe("E1 E2 E3 task events", () => {
  it("E1 each change of a task's status emits the event with that suffix", async () => {
    await using all = await subscribe(service);
    const { taskId } = await startTask(all);
    await move(taskId, failed, running, completed);
    const events = await eventsOf(all, 4);
    expect(events.map(({ event, status }) => [event, status])).toEqual([
      ["task.running", "RUNNING"],
      ["task.failed", "FAILED"],
      ["task.running", "RUNNING"],
      ["task.completed", "COMPLETED"],
    ]);
    expect(new Set(events.map(({ id }) => id)).size, "no two changes of one task share an id").toBe(4);
    const times = events.map(({ occurredAt }) => occurredAt);
    expect(new Set(times).size, "no two changes of one task share a time").toBe(4);
    expect(times).toEqual(times.toSorted());
  });

  it("E1 a COMPLETED task cannot change and emits nothing", async () => {
    await using all = await subscribe(service);
    const { taskId } = await startTask(all, { progression: "immediate", stages: [] });
    await all.receiver.received(2);
    await expect(move(taskId, running)).rejects.toMatchObject({ code: "CONFLICT" });
    await service.advance("1d");
    expect(all.receiver.deliveries).toHaveLength(2);
  });

  it("E1 a task of a type that the catalog does not name emits no event", async () => {
    await using all = await subscribe(service);
    const { taskId } = await startTask(all, { taskType: "ENTITY_REVIEW" });
    await service.control.setStageStatus(taskId, { subTaskType: "review", status: "COMPLETED" });
    await move(taskId, failed, running, completed);
    await startTask(all, { taskType: "BINDER" });
    const events = await eventsOf(all, 1);
    expect(events.map(({ event, taskType }) => [event, taskType])).toEqual([["task.running", "BINDER"]]);
    await service.advance("1h");
    expect(all.receiver.deliveries).toHaveLength(1);
  });

  it("E2 the envelope has exactly the fields of the interface", async () => {
    await using all = await subscribe(service);
    const { taskId } = await startTask(all, { taskType: "BINDER" });
    const [event] = await eventsOf(all, 1);
    expect(Object.keys(event).sort()).toEqual(taskFields);
    const { workspaceId } = all;
    expect(event).toMatchObject({
      version: "2",
      workspaceId,
      taskId,
      taskType: "BINDER",
      errorMessage: null,
    });
    expect(event.occurredAt).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  });

  it("E2 a change has the same UUID for every endpoint and every retry", async () => {
    await using first = await subscribe(service);
    await using second = await subscribe(service, { within: first });
    const { taskId } = await startTask(first);
    await move(taskId, failed);
    const ids = async (of: Subscriber) => (await eventsOf(of, 2)).map(({ id }) => id);
    const [runningId, failedId] = await ids(first);
    expect(await ids(second)).toEqual([runningId, failedId]);
    for (const id of [runningId, failedId]) expect(id).toMatch(uuid);
    expect(failedId).not.toBe(runningId);

    const [delivery] = await first.deliveries();
    await service.control.replayDelivery(delivery?.id ?? "");
    expect((await eventsOf(first, 3))[2]?.id).toBe(runningId);
  });

  it("E3 only task.failed has errorMessage and customerError", async () => {
    await using all = await subscribe(service);
    const { taskId } = await startTask(all);
    const customerError = { code: "DOCUMENT_UNREADABLE", action: { type: "REUPLOAD", connectionId: null } };
    await move(taskId, { ...failed, errorMessage: "page 3 is blank", customerError }, running, completed);
    const events = await eventsOf(all, 4);
    expect(events.map(({ errorMessage }) => errorMessage)).toEqual([null, "page 3 is blank", null, null]);
    expect(events.map((event) => event.customerError)).toEqual([null, customerError, null, null]);
  });

  it("E3 task.failed within the retry grace period is sent with a customerError of null", async () => {
    await using all = await subscribe(service, { eventTypes: ["task.failed"] });
    const { taskId } = await startTask(all);
    await move(taskId, { ...failed, withinRetryGrace: true }, running, {
      ...failed,
      withinRetryGrace: false,
    });
    await service.advance("1d");
    expect(all.receiver.deliveries, "A-17: no event classifies a failure later").toHaveLength(2);
    const customerErrors = (await eventsOf(all, 2)).map(({ customerError }) => customerError);
    expect(customerErrors).toMatchObject([null, { code: "INTERNAL", action: { type: "CONTACT_SUPPORT" } }]);
  });

  it("E3 only task.completed of TAX_PREP has taxPrepResult", async () => {
    await using all = await subscribe(service);
    for (const taskType of ["TAX_PREP", "TAX_REVIEW"])
      await move((await startTask(all, { taskType })).taskId, completed);
    const results = (await eventsOf(all, 4)).filter(({ taxPrepResult }) => taxPrepResult !== null);
    expect(results.map(({ event, taskType }) => `${event} ${taskType}`)).toEqual(["task.completed TAX_PREP"]);
    const number = expect.any(Number);
    expect(results[0].taxPrepResult).toEqual({
      taxYear: number,
      returnType: "F1040",
      summary: expect.any(String),
      documentCount: number,
      extractedFormCount: number,
      reviewItemCount: number,
      reviewItems: expect.any(Array),
    });
  });
});

it("E4 the event of a finished stage has the task's envelope and the fields of the stage", async () => {
  await using all = await subscribe(service, { eventTypes: ["subtask.completed", "subtask.failed"] });
  const { taskId } = await startTask(all);
  for (const input of [
    { subTaskType: "tax-extraction", ...running },
    { subTaskType: "tax-extraction", ...completed },
    { subTaskType: "reconciliation", ...failed, errorMessage: "totals differ" },
  ]) {
    await service.advance("2s");
    await service.control.setStageStatus(taskId, input);
  }
  const events = await eventsOf(all, 2);
  for (const event of events) expect(Object.keys(event).sort()).toEqual(stageFields);
  expect(events).toMatchObject([
    { event: "subtask.completed", ...completed, subTaskType: "tax-extraction", errorMessage: null },
    { event: "subtask.failed", ...failed, subTaskType: "reconciliation", errorMessage: "totals differ" },
  ]);
  expect(events[0].subTaskId).not.toBe(events[1].subTaskId);
  const [first, second] = events.map(({ occurredAt }) => Date.parse(occurredAt));
  expect(second! - first!, "each has the time at which its stage finished").toBe(2_000);
  await service.advance("1h");
  expect(all.receiver.deliveries, "the start of a stage emits no event").toHaveLength(2);
});

describe("E5 documents.synced", () => {
  it("E5 documents.synced lists the documents of a pull and counts the existing ones", async () => {
    await using all = await subscribe(service, { eventTypes: ["documents.synced"] });
    const connectionId = await startConnection(all);
    const mimeType = "application/pdf";
    const pull = (...fileNames: string[]) => {
      const documents = fileNames.map((fileName) => ({ fileName, mimeType }));
      return service.control.syncDocuments({ connectionId, sourceExternalId: "folder-7", documents });
    };
    await pull("w2.pdf", "1099.pdf");
    await pull("1099.pdf", "receipt.pdf");
    const [first, second] = await eventsOf(all, 2);
    const inputDocumentId = expect.any(String);
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
      duplicateCount: 0,
      documents: ["w2.pdf", "1099.pdf"].map((fileName) => ({ inputDocumentId, fileName, mimeType })),
    });
    expect(second).toMatchObject({ documents: [{ fileName: "receipt.pdf" }], duplicateCount: 1 });
    expect(second.id).not.toBe(first.id);
  });

  it("E5 documents that a user adds emit no event", async () => {
    await using all = await subscribe(service);
    const options = await all.admin();
    const upload = await fetch(`${service.baseUrl}/api/uploads`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${options.token}`,
        "tus-resumable": "1.0.0",
        "upload-length": "0",
        "upload-metadata": `filename ${btoa("w2.pdf")},filetype ${btoa("application/pdf")}`,
      },
    });
    const uploadIds = [upload.headers.get("location")?.split("/").at(-1)];
    const input = { name: "Ada", externalId: "ada", returnType: "F1040", taxYear: 2025, uploadIds };
    const createClient = mutation(service, "createClient", "$input: CreateClientInput!", "{ taskId }");
    expect((await done(createClient({ input }, options))).taskId).toEqual(expect.any(String));
    await service.advance("1h");
    const events = all.receiver.deliveries.map(({ event }) => event.event);
    expect(events).toContain("task.completed");
    expect(events).not.toContain("documents.synced");
  });
});

describe("E6 E7 subscriptions", () => {
  it("E6 only an endpoint without eventTypes receives an event that is added later", async () => {
    await using all = await subscribe(service);
    await using some = await subscribe(service, { within: all, eventTypes: ["task.running"] });
    const { workspaceId } = all;
    const name = "return.filed";
    await service.control.addCatalogEvent({ name, description: "A return was filed." });
    expect((await readCatalog()).map((entry) => entry.name)).toContain(name);
    await service.control.sendEvent({ workspaceId, name, payload: { filed: true } });
    expect(await eventsOf(all, 1)).toMatchObject([{ event: name, workspaceId, filed: true }]);

    await using late = await subscribe(service, { within: all, eventTypes: [name] });
    await service.control.sendEvent({ workspaceId, name, payload: {} });
    expect(await late.receiver.received(1)).toHaveLength(1);
    expect(some.receiver.deliveries).toHaveLength(0);
  });

  it("E6 an endpoint with eventTypes receives only those", async () => {
    await using failures = await subscribe(service, { eventTypes: ["task.failed"] });
    const { taskId } = await startTask(failures);
    await move(taskId, failed, running);
    await service.advance("1h");
    expect(failures.receiver.deliveries.map(({ event }) => event.event)).toEqual(["task.failed"]);
  });

  it("E7 events of one workspace never reach another's endpoints", async () => {
    await using ours = await subscribe(service);
    await using theirs = await subscribe(service);
    await startTask(ours, { progression: "immediate" });
    await startTask(theirs);
    await service.advance("1h");
    for (const { receiver, workspaceId } of [ours, theirs])
      expect(new Set(receiver.deliveries.map(({ event }) => event.workspaceId))).toEqual(
        new Set([workspaceId]),
      );
    expect(theirs.receiver.deliveries).toHaveLength(1);
  });
});
