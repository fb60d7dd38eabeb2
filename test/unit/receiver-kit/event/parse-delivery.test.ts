import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { namedClient, parseDelivery, readJson } from "../../../../receiver-kit/event/parse-delivery.ts";
import { completedEvent, sampleEvent, stageEvent } from "../../../support/sample-event.ts";

const nowMs = Date.UTC(2026, 5, 1);
const inspect = (body: string | Uint8Array) => parseDelivery(Buffer.from(body as string), nowMs);
const parseEventBody = (event: unknown) => inspect(JSON.stringify(event));

describe("parseDelivery accepts", () => {
  it.each([
    ["a task event", sampleEvent()],
    ["a stage event", stageEvent({ subTaskType: "a-stage-of-next-year" })],
    ["an event name added later", { event: "task.archived", whatever: 1 }],
    ["unknown fields", completedEvent({ added: { later: true } })],
    [
      "no documents list",
      { event: "documents.synced", connectionId: "c", providerKey: "p", sourceExternalId: "s" },
    ],
    ["an offset instead of Z", sampleEvent({ occurredAt: "2026-03-01t11:30:00+02:00" })],
    ["ten minutes of clock skew", sampleEvent({ occurredAt: new Date(nowMs + 600_000).toISOString() })],
    ["text that a database could not store", sampleEvent({ errorMessage: "a\u0000b", taskType: "\ud800" })],
    ["fields named like an object's own", JSON.parse('{"__proto__":{"x":1},"constructor":1,"event":"x"}')],
  ])("a delivery with %s", (_, event) => {
    expect(parseEventBody(event)).toMatchObject({ ok: true });
  });
});

describe("parseDelivery rejects", () => {
  it.each<[string, string | Uint8Array, string]>([
    ["an empty body", "", "body is not JSON"],
    ["a body that is not UTF-8", Buffer.from([0x7b, 0xff, 0x7d]), "body is not UTF-8"],
    ["a body with a byte order mark", `\ufeff${JSON.stringify(sampleEvent())}`, "body is not JSON"],
    ["truncated JSON", '{"event":"task.running"', "body is not JSON"],
    ["an array", "[]", "expected object"],
    ["null", "null", "expected object"],
    ["a number", "123", "expected object"],
    ["an object without an event name", "{}", "event:"],
    ["an empty event name", '{"event":""}', "event:"],
  ])("%s", (_, body, reason) => {
    const parsed = inspect(body);
    expect(parsed.ok).toBe(false);
    expect(parsed).toMatchObject({ reason: expect.stringContaining(reason) });
  });

  it.each([
    ["taskId", { taskId: undefined }],
    ["taskId", { taskId: "" }],
    ["occurredAt", { occurredAt: undefined }],
    ["occurredAt", { occurredAt: "2026-03-01T09:30:00" }],
    ["occurredAt", { occurredAt: "2026-03-01T09:30:60Z" }],
    ["occurredAt", { occurredAt: "10000-03-01T09:30:00Z" }],
    ["occurredAt", { occurredAt: new Date(nowMs + 600_001).toISOString() }],
    ["status", { status: "COMPLETED" }],
    ["subTaskId", { event: "subtask.failed", status: "FAILED" }],
  ])("an event with an unusable %s: %j", (field, fields) => {
    const parsed = parseEventBody(sampleEvent(fields));
    expect(parsed).toMatchObject({ ok: false, reason: expect.stringContaining(field) });
  });

  it("an unusable event with the key of its task, so that the task can be reconciled", () => {
    expect(parseEventBody(sampleEvent({ taskId: "t", occurredAt: "soon" })).columns).toEqual({
      event: "task.running",
      orderKey: '["t"]',
      position: null,
      status: null,
      workspaceId: "workspace-1",
    });
    expect(parseEventBody({ taskId: "t", subTaskId: "s" }).columns.orderKey).toBe('["t","s"]');
  });

  it("an event with a reason that does not repeat the body", () => {
    const secretText = "a-very-private-name";
    const parsed = parseEventBody(sampleEvent({ occurredAt: secretText, taskId: 7, status: secretText }));
    expect(parsed.ok).toBe(false);
    expect(JSON.stringify(parsed)).not.toContain(secretText);
  });

  it("JSON nested 200,000 levels deep without a crash", () => {
    const depth = 200_000;
    expect(() => inspect(`{"event":"x","a":${"[".repeat(depth)}${"]".repeat(depth)}}`)).not.toThrow();
  });

  it("or accepts any bytes without throwing", () => {
    fc.assert(fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => void parseDelivery(bytes, nowMs)));
    fc.assert(fc.property(fc.json(), (text) => void inspect(text)));
    fc.assert(
      fc.property(fc.dictionary(fc.constantFrom(...Object.keys(sampleEvent())), fc.jsonValue()), (fields) => {
        parseEventBody(sampleEvent(fields));
      }),
    );
  });
});

it("parseDelivery returns no event name that a database could not store", () => {
  const odd = parseEventBody({ event: "caf\u00e9\u0000" });
  expect(odd).toMatchObject({ ok: true, columns: { event: null } });
  expect(parseEventBody({ event: "x".repeat(201) }).columns.event).toBeNull();
});

it("the client that a body names is found in any JSON, and none in other bytes", () => {
  const bodies = [
    ...['{"clientId":"c"}', "null", "{", ""].map((text) => Buffer.from(text)),
    Buffer.from([0xff]),
  ];
  const clients = bodies.map((body) => namedClient(readJson(body)));
  expect(clients).toEqual(["c", undefined, undefined, undefined, undefined]);
});

describe("the columns of a parsed delivery", () => {
  it("are those of the event", () => {
    const { columns } = parseEventBody(sampleEvent({ taskId: "t", workspaceId: "w" }));
    expect(columns).toMatchObject({
      event: "task.running",
      orderKey: '["t"]',
      status: "RUNNING",
      workspaceId: "w",
    });
  });

  it.each([
    [{ event: 5, taskId: "t", workspaceId: 7 }, '["t"]'],
    [{ event: null, taskId: "", workspaceId: null }, null],
    [{ event: ["task.running"], taskId: "t", subTaskId: "" }, '["t"]'],
    [{ taskId: "t", subTaskId: "s", workspaceId: ["w"] }, '["t","s"]'],
  ])("of an unusable event have only texts, and no empty id: %j", (event, orderKey) => {
    expect(parseEventBody(event)).toMatchObject({
      ok: false,
      columns: { event: null, orderKey, workspaceId: null },
    });
  });

  it.each([[], 5, null])("of %j, which is no object, are empty, and the reason names the body", (value) => {
    expect(parseEventBody(value)).toMatchObject({
      reason: expect.stringMatching(/^body: /),
      columns: { event: null, orderKey: null, position: null, status: null, workspaceId: null },
    });
  });
});
