import {
  eventSchemas,
  exampleEvent,
  isKnownEvent,
  isKnownEventName,
  isSubtaskEvent,
  isTaskEvent,
  type KnownEventName,
  knownEventNames,
  parseEvent,
  parseOccurredAt,
  payloadJsonSchema,
  type WebhookEvent,
} from "@workspace-tasks/events";
import { Ajv } from "ajv";
import fc from "fast-check";
import { describe, expect, it } from "vitest";

const completed = {
  id: "0b6c1f6e-7a52-8f0e-9a3b-2f4a5b6c7d8e",
  event: "task.completed",
  version: "2",
  occurredAt: "2026-03-01T09:30:00.000Z",
  workspaceId: "w1",
  clientId: "c1",
  taskId: "t1",
  taskType: "TAX_PREP",
  status: "COMPLETED",
  errorMessage: null,
  taxPrepResult: {
    taxYear: 2025,
    returnType: "F1040",
    summary: "done",
    documentCount: 3,
    extractedFormCount: 2,
    reviewItemCount: 1,
    reviewItems: [{ severity: "low", category: "income", description: "check" }],
  },
  customerError: null,
};

const failure = { customerError: { code: "C", action: { type: "A", connectionId: null } } };

/** As libraries of formats have them. */
const formats = { uuid: true, "date-time": (text: string) => !Number.isNaN(Date.parse(text)) } as const;

const withoutKeys = (value: object, ...keys: string[]) =>
  Object.fromEntries(Object.entries(value).filter(([key]) => !keys.includes(key)));

describe("parseEvent", () => {
  it.each([
    ["of the catalog", completed, ["addedLater"]],
    ["of a task", { ...completed, event: "task.paused", status: "PAUSED" }, ["addedLater"]],
    [
      "of a stage",
      {
        ...withoutKeys(exampleEvent("subtask.failed"), "errorMessage"),
        event: "subtask.paused",
        errorMessage: null,
      },
      ["addedLater", "taxPrepResult"],
    ],
    ["of another name", { event: "invoice.paid" }, ["addedLater"]],
    ["with the fields of another kind", exampleEvent("documents.synced"), ["addedLater", "status"]],
  ])("parseEvent keeps the unknown fields of an event %s apart", (_name, event, names) => {
    const additional = Object.fromEntries(names.map((name) => [name, { deep: [1] }]));
    expect(parseEvent({ ...event, ...additional })).toEqual({ ok: true, event: { ...event, additional } });
  });

  it("parseEvent keeps unknown fields in their places within the objects of an event", () => {
    const taxPrepResult = { ...completed.taxPrepResult, addedLater: 1 };
    const parsed = parseEvent({ ...completed, taxPrepResult });
    expect(parsed).toEqual({ ok: true, event: { ...completed, taxPrepResult, additional: {} } });
  });

  it("parseEvent does not take a field that is named as the others' place, or as a prototype, for one of its own", () => {
    const event = JSON.parse(
      JSON.stringify(completed).replace("{", '{"additional":1,"__proto__":{"taskId":"x"},'),
    );
    const parsed = parseEvent(event);
    const { additional, ...named } = (parsed as unknown as { event: Record<string, unknown> }).event;
    expect(named).toEqual(completed);
    expect(additional).toEqual({ additional: 1 });
    expect(Object.getPrototypeOf(additional)).toBe(Object.prototype);
  });

  it("parseEvent turns absent nullable fields into null", () => {
    const parsed = parseEvent(withoutKeys(completed, "errorMessage", "taxPrepResult", "customerError"));
    expect(parsed).toEqual({
      ok: true,
      event: { ...completed, errorMessage: null, taxPrepResult: null, customerError: null, additional: {} },
    });
  });

  it("parseEvent returns an event with an unknown name and all of its fields", () => {
    const parsed = parseEvent({ event: "task.cancelled", anything: true });
    expect(parsed).toEqual({ ok: true, event: { event: "task.cancelled", additional: { anything: true } } });
    expect(parsed.ok && isKnownEvent(parsed.event)).toBe(false);
  });

  it("parseEvent reads an unknown task event with the envelope as a task event", () => {
    const { taxPrepResult: _, ...envelope } = completed;
    const parsed = parseEvent({ ...envelope, event: "task.cancelled", status: "CANCELLED", clientId: 7 });
    expect(parsed).toMatchObject({
      ok: true,
      event: { taskId: "t1", status: "CANCELLED", taxPrepResult: null },
    });
    expect(parsed.ok && isTaskEvent(parsed.event) && [parsed.event.clientId]).toEqual([undefined]);
  });

  it.each([
    ["version", 3],
    ["workspaceId", null],
    ["clientId", 7],
    ["taskType", {}],
    ["errorMessage", []],
    ["taxPrepResult", "text"],
    ["customerError", 1],
  ])("parseEvent leaves out a detail of another form: %s", (field, value) => {
    const parsed = parseEvent({ ...completed, [field]: value });
    expect(parsed.ok && (parsed.event as unknown as Record<string, unknown>)[field]).toBeOneOf([
      null,
      undefined,
    ]);
  });

  it("parseEvent keeps the details of an object that have the right form", () => {
    const customerError = { code: "C", action: { type: 5, connectionId: "k" }, later: 1 };
    const parsed = parseEvent({ ...completed, event: "task.failed", status: "FAILED", customerError });
    expect(parsed).toMatchObject({ ok: true });
    expect(parsed.ok && "customerError" in parsed.event && parsed.event.customerError).toEqual({
      code: "C",
      later: 1,
      action: { type: undefined, connectionId: "k" },
    });
  });

  it("parseEvent does not take an inherited property name for an event name", () => {
    expect(parseEvent({ event: "constructor" })).toEqual({
      ok: true,
      event: { event: "constructor", additional: {} },
    });
  });

  it("parseEvent accepts documents.synced with another list name and no envelope", () => {
    const event = {
      event: "documents.synced",
      connectionId: "c",
      providerKey: "p",
      sourceExternalId: "folder",
      files: [{}],
    };
    const { files, ...named } = event;
    const read = { ...named, documents: [], duplicateCount: 0, additional: { files } };
    expect(parseEvent(event)).toEqual({ ok: true, event: read });
  });

  it.each([
    ["a name that is not a string", { event: 7 }],
    ["no name", {}],
    ["null", null],
    ["a list", [completed]],
    ["a status that contradicts the name", { ...completed, status: "FAILED" }],
    ["no task id", withoutKeys(completed, "taskId")],
    ["a time without a zone", { ...completed, occurredAt: "2026-03-01T09:30:00" }],
    ["a day that does not exist", { ...completed, occurredAt: "2026-02-30T09:30:00Z" }],
  ])("parseEvent rejects %s and names the field", (_name, value) => {
    const parsed = parseEvent(value);
    expect(parsed.ok).toBe(false);
    expect(!parsed.ok && parsed.issues.length).toBeGreaterThan(0);
  });

  it("parseEvent never throws, and its issues contain no value", () => {
    fc.assert(
      fc.property(fc.anything(), (value) => {
        const parsed = parseEvent({
          ...completed,
          taskId: 5,
          errorMessage: "s3cret",
          extra: value,
          status: "s3cret",
        });
        expect(!parsed.ok && JSON.stringify(parsed.issues)).not.toContain("s3cret");
        parseEvent(value);
      }),
      { seed: 1 },
    );
  });
});

describe("parseOccurredAt", () => {
  it.each([
    ["1970-01-01T00:00:00Z", 0n],
    ["1970-01-01T00:00:00.000001Z", 1_000n],
    ["1970-01-01T00:00:00.123456789Z", 123_456_789n],
    ["1970-01-01T00:00:00.1234567891Z", 123_456_789n],
    ["1970-01-01T02:00:00+02:00", 0n],
    ["1969-12-31T23:59:59.999Z", -1_000_000n],
    ["1970-01-01t00:00:00z", 0n],
    // A leap second is behind the second before it and in front of the next minute.
    ["2016-12-31T23:59:60Z", 1_483_228_799_999_999_999n],
    ["2017-01-01T00:59:60.5+01:00", 1_483_228_799_999_999_999n],
  ])("parseOccurredAt reads %s as %s nanoseconds", (text, nanoseconds) => {
    expect(parseOccurredAt(text)).toBe(nanoseconds);
  });

  it.each([
    "2026-03-01",
    "2026-03-01T09:30:00",
    "2026-03-01T09:30:60Z",
    "2026-03-01T24:00:00Z",
    "2026-02-29T00:00:00Z",
    "12026-03-01T09:30:00Z",
    "2026-03-01T09:30:00+25:00",
    " 2026-03-01T09:30:00Z",
    "",
  ])("parseOccurredAt rejects %j", (text) => {
    expect(parseOccurredAt(text)).toBeUndefined();
  });

  it("parseOccurredAt agrees with Date.parse to the millisecond", () => {
    fc.assert(
      fc.property(
        fc.date({ min: new Date(0), max: new Date("9999-12-31T00:00:00Z"), noInvalidDate: true }),
        (date) => {
          expect(parseOccurredAt(date.toISOString())).toBe(BigInt(date.getTime()) * 1_000_000n);
        },
      ),
      { seed: 2 },
    );
  });
});

describe("payloadJsonSchema", () => {
  it.each(knownEventNames)("the JSON schema of %s is valid Draft 7", (name) => {
    const schema = payloadJsonSchema(name);
    expect(schema["$schema"]).toBe("http://json-schema.org/draft-07/schema#");
    expect(new Ajv({ strict: true }).validateSchema(schema)).toBe(true);
    expect(() => new Ajv({ strict: true, allowUnionTypes: true, formats }).compile(schema)).not.toThrow();
  });

  it("the JSON schemas accept an event as the service sends it, and reject a wrong status", () => {
    const validate = new Ajv({ formats }).compile(payloadJsonSchema("task.completed"));
    const sent = { ...completed, errorMessage: null, customerError: null };
    expect(validate(sent)).toBe(true);
    expect(validate({ ...sent, aNewField: 1 })).toBe(true);
    expect(validate({ ...sent, status: "FAILED" })).toBe(false);
  });

  const month13 = "2026-13-01T09:30:00Z";
  it.each<readonly [KnownEventName, object]>([
    ["task.completed", { version: "1" }],
    ["task.completed", { id: "x" }],
    ["task.completed", { occurredAt: month13 }],
    ["task.completed", { taskType: "ENTITY_REVIEW" }],
    ["task.completed", { taskType: "BINDER" }],
    ["task.completed", { errorMessage: "text" }],
    ["task.completed", { customerError: failure.customerError }],
    ["task.running", { taxPrepResult: completed.taxPrepResult }],
    ["task.running", { errorMessage: "text" }],
    ["task.running", { customerError: failure.customerError }],
    ["task.failed", { taxPrepResult: completed.taxPrepResult }],
    ["task.failed", { errorMessage: null }],
    ["subtask.completed", { errorMessage: "text" }],
    ["subtask.completed", { taxPrepResult: null }],
    ["subtask.failed", { customerError: null }],
    ["documents.synced", { status: "COMPLETED" }],
    ["documents.synced", { clientId: null }],
    ["documents.synced", { occurredAt: month13 }],
  ])(
    "schemas of %s reject %j, which the interface excludes; parseEvent reads it unless its time is wrong",
    (name, change) => {
      const sent = exampleEvent(name);
      const validate = new Ajv({ formats }).compile(payloadJsonSchema(name));
      expect([validate(sent), eventSchemas[name].safeParse(sent).success]).toEqual([true, true]);
      const changed = { ...sent, ...change };
      expect([validate(changed), eventSchemas[name].safeParse(changed).success]).toEqual([false, false]);
      const isRead = name === "documents.synced" || !("occurredAt" in change);
      expect(parseEvent(changed).ok).toBe(isRead);
    },
  );

  it("schemas say which field belongs to another event", () => {
    const issuesOf = (name: KnownEventName, change: object) =>
      eventSchemas[name].safeParse({ ...exampleEvent(name), ...change }).error?.issues;
    expect(issuesOf("documents.synced", { status: "COMPLETED" })).toMatchObject([
      { message: "expected no field of another kind of event" },
    ]);
    expect(issuesOf("task.completed", { taskType: "BINDER" })).toMatchObject([
      { path: ["taxPrepResult"], message: "expected no result of another type than TAX_PREP" },
    ]);
  });

  it("the JSON schema of another catalog has its task types", () => {
    const validate = new Ajv({ formats }).compile(payloadJsonSchema("task.running", ["ENTITY_REVIEW"]));
    const sent = exampleEvent("task.running");
    expect([validate(sent), validate({ ...sent, taskType: "ENTITY_REVIEW" })]).toEqual([false, true]);
  });

  it.each(knownEventNames)("the JSON schema of %s requires every field, at any depth", (name) => {
    const objects: Record<string, unknown>[] = [];
    JSON.stringify(payloadJsonSchema(name), (_, value) => {
      if (value?.type === "object" && value.properties) objects.push(value);
      return value;
    });
    expect(objects.length).toBeGreaterThan(0);
    for (const { properties, required, ...rest } of objects) {
      expect(required).toEqual(Object.keys(properties as object));
      expect(rest).not.toHaveProperty("default");
    }
    const { required } = payloadJsonSchema(name);
    expect(required).toEqual(expect.arrayContaining(["id", "event", "version", "occurredAt", "workspaceId"]));
  });
});

describe("the envelope of an event that is not in the catalog", () => {
  const stage = {
    event: "subtask.paused",
    id: "e",
    taskId: "t",
    subTaskId: "s",
    status: "PAUSED",
    occurredAt: "2026-03-01T00:00:00Z",
  };
  const guards = (event: object) => [
    isTaskEvent(event as WebhookEvent),
    isSubtaskEvent(event as WebhookEvent),
  ];

  it("makes it an event of a task or of a stage, by its name", () => {
    expect(guards(stage)).toEqual([false, true]);
    expect(guards({ ...stage, event: "task.paused" })).toEqual([true, false]);
    expect(guards({ ...stage, event: "a.subtask." })).toEqual([false, false]);
    expect(guards({ ...stage, event: "a.task." })).toEqual([false, false]);
    expect(guards({ ...stage, event: "invoice.paid" })).toEqual([false, false]);
  });

  it.each([
    ...["id", "taskId", "status"].flatMap((field) => [
      { [field]: "" },
      { [field]: 5 },
      { [field]: undefined },
    ]),
    ...["yesterday", 5, undefined, [stage.occurredAt]].map((occurredAt) => ({ occurredAt })),
  ])("is not there with %j", (changed) => {
    expect(guards({ ...stage, ...changed })).toEqual([false, false]);
    expect(guards({ ...stage, event: "task.paused", ...changed })).toEqual([false, false]);
  });

  it.each([{ subTaskId: "" }, { subTaskId: 5 }, { subTaskId: undefined }])(
    "of a stage is not there with %j, which a task does not need",
    (changed) => {
      expect(guards({ ...stage, ...changed })).toEqual([false, false]);
      expect(guards({ ...stage, event: "task.paused", ...changed })).toEqual([true, false]);
    },
  );
});

describe("the issues of an event", () => {
  it("name the field and what is expected", () => {
    const parsed = parseEvent({
      event: "task.running",
      id: "e",
      occurredAt: "2026-03-01T00:00:00Z",
      status: "RUNNING",
    });
    expect(parsed).toEqual({
      ok: false,
      issues: [{ path: "taskId", message: expect.stringContaining("expected string") }],
    });
  });

  it.each([[{ event: 5 }], [{ event: null }], [{ event: {} }]])("of %j name its event", (value) => {
    expect(parseEvent(value)).toMatchObject({ ok: false, issues: [{ path: "event" }] });
  });
});

it.each(knownEventNames)("%s is an event of the catalog", (name) => {
  expect(isKnownEvent(exampleEvent(name) as never)).toBe(true);
});

describe("a value of another type", () => {
  const others: readonly unknown[] = [
    undefined,
    null,
    3,
    "x",
    {},
    [],
    { event: 3 },
    Symbol("x"),
    ["task.failed"],
  ];

  it.each(others)("%o is no event, and no time", (value) => {
    const event = value as WebhookEvent;
    expect([isTaskEvent(event), isSubtaskEvent(event), isKnownEvent(event)]).toEqual([false, false, false]);
    expect(isKnownEventName(value as string)).toBe(false);
    expect(parseOccurredAt(value as string)).toBeUndefined();
  });

  it("a name that is not in the catalog has no example and no schema", () => {
    const name = "task.complete" as KnownEventName;
    const message = /name: expected one of task\.running, .*, got "task\.complete"$/;
    expect(() => exampleEvent(name)).toThrow(message);
    expect(() => payloadJsonSchema(name)).toThrow(message);
    expect(() => exampleEvent(undefined as never)).toThrow("got a value of type undefined");
  });
});
