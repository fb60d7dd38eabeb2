import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseDelivery } from "../../../../receiver-kit/event/parse-delivery.ts";
import { completedEvent, sampleEvent, stageEvent } from "../../../support/sample-event.ts";

const nowMs = Date.UTC(2026, 5, 1);
const inspect = (body: string | Uint8Array) => parseDelivery(Buffer.from(body as string), nowMs);
const parseEventBody = (event: unknown) => inspect(JSON.stringify(event));

describe("a ok delivery", () => {
  it.each([
    ["a task event", sampleEvent()],
    ["a stage event", stageEvent({ subTaskType: "a-stage-of-next-year" })],
    ["an event of the future", { event: "task.archived", whatever: 1 }],
    ["unknown fields", completedEvent({ added: { later: true } })],
    [
      "no documents list",
      { event: "documents.synced", connectionId: "c", providerKey: "p", sourceExternalId: "s" },
    ],
    ["an offset instead of Z", sampleEvent({ occurredAt: "2026-03-01t11:30:00+02:00" })],
    ["ten minutes of clock skew", sampleEvent({ occurredAt: new Date(nowMs + 600_000).toISOString() })],
    ["text that no database could keep", sampleEvent({ errorMessage: "a\u0000b", taskType: "\ud800" })],
    ["fields named like an object's own", JSON.parse('{"__proto__":{"x":1},"constructor":1,"event":"x"}')],
  ])("may have %s", (_, event) => {
    expect(parseEventBody(event)).toMatchObject({ ok: true });
  });
});

describe("a delivery goes to quarantine", () => {
  it.each<[string, string | Uint8Array, string]>([
    ["when it is empty", "", "body is not JSON"],
    ["when it is not UTF-8", Buffer.from([0x7b, 0xff, 0x7d]), "body is not UTF-8"],
    ["when it begins with a byte order mark", `\ufeff${JSON.stringify(sampleEvent())}`, "body is not JSON"],
    ["when it is cut off", '{"event":"task.running"', "body is not JSON"],
    ["when it is an array", "[]", "expected object"],
    ["when it is null", "null", "expected object"],
    ["when it is a number", "123", "expected object"],
    ["when it has no event name", "{}", "event:"],
    ["when its event name is empty", '{"event":""}', "event:"],
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
  ])("when its %s is unusable: %j", (field, fields) => {
    const parsed = parseEventBody(sampleEvent(fields));
    expect(parsed).toMatchObject({ ok: false, reason: expect.stringContaining(field) });
  });

  it("with the task it is about, where it names one, so that the task can be reconciled", () => {
    expect(parseEventBody(sampleEvent({ taskId: "t", occurredAt: "soon" })).columns).toEqual({
      event: "task.running",
      orderKey: '["t"]',
      position: null,
      status: null,
    });
    expect(parseEventBody({ taskId: "t", subTaskId: "s" }).columns.orderKey).toBe('["t","s"]');
  });

  it("with a reason that does not repeat what was sent", () => {
    const secretText = "a-very-private-name";
    const parsed = parseEventBody(sampleEvent({ occurredAt: secretText, taskId: 7, status: secretText }));
    expect(parsed.ok).toBe(false);
    expect(JSON.stringify(parsed)).not.toContain(secretText);
  });

  it("when it is nested deeper than anybody could mean, without a crash", () => {
    const depth = 200_000;
    expect(() => inspect(`{"event":"x","a":${"[".repeat(depth)}${"]".repeat(depth)}}`)).not.toThrow();
  });

  it("or is used, whatever the bytes: nothing is ever thrown", () => {
    fc.assert(fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => void parseDelivery(bytes, nowMs)));
    fc.assert(fc.property(fc.json(), (text) => void inspect(text)));
    fc.assert(
      fc.property(fc.dictionary(fc.constantFrom(...Object.keys(sampleEvent())), fc.jsonValue()), (fields) => {
        parseEventBody(sampleEvent(fields));
      }),
    );
  });
});

it("keeps columns that every database can hold", () => {
  const odd = parseEventBody({ event: "caf\u00e9\u0000" });
  expect(odd).toMatchObject({ ok: true, columns: { event: null } });
  expect(parseEventBody({ event: "x".repeat(201) }).columns.event).toBeNull();
});
