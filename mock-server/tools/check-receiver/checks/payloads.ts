import { knownEventNames } from "@workspace-tasks/events";
import type { JsonObject, SampleEvents } from "../target/target.ts";
import * as probe from "./probe-check.ts";

const acceptUnknown =
  "Store what you do not know and acknowledge it; a schema that rejects it makes the sender retry for days.";
const event =
  (payloadOf: (samples: SampleEvents) => JsonObject): probe.Change =>
  (_, { samples, compose }) =>
    compose({ payload: payloadOf(samples) });

const task = (overrides?: JsonObject) => event((samples) => samples.task(overrides));
const stage = (overrides?: JsonObject) => event((samples) => samples.stage(overrides));

/** Writes text in front of the fields of a task event. */
const withFields = (fields: string) => probe.edited((text) => text.replace("{", `{${fields}`));

const taskFailed = { event: "task.failed", status: "FAILED", errorMessage: "audit" };

/** Deep enough to exhaust the stack of a recursive reader. */
const deepObject = `${'{"a":'.repeat(50_000)}1${"}".repeat(50_000)}`;

// A signed body that cannot be used was sent by the real sender. Quarantined (2xx) it can be inspected and replayed;
// rejected (4xx) it is retried in vain for days. Both are acceptable; a 5xx or a timeout is not.
const quarantineIt =
  "Parse the body in a try block after verifying; store what cannot be parsed, acknowledge it and raise an alarm.";

const unusable = (check: probe.ProbeCheck) =>
  probe.shouldHandle({ expected: "2xx (quarantined) or 4xx, in time", ...check });

const body = (text: string | Buffer) => probe.edited(() => text);
const occurredAt = (time: string) =>
  probe.edited((text) => text.replace(/"occurredAt":"[^"]*"/, `"occurredAt":"${time}"`));

export const payloadChecks: probe.CheckTable = {
  "events.catalog": probe.mustAcknowledge({
    title: "accepts every event of the catalog",
    sent: "one delivery of each event of the catalog",
    fix: "Accept each event the endpoint is subscribed to; without a subscription list it receives all of them.",
    change: probe.each(knownEventNames, (name) => event((samples) => samples.of(name))),
  }),
  "events.unknown": probe.mustAcknowledge({
    title: "acknowledges what later versions may add",
    sent: "an event with an unknown name, one with added fields, and new values of subTaskType and taskType",
    fix: `${acceptUnknown} The catalog grows, and subTaskType and the task type are free text: require what you use, ignore the rest.`,
    change: {
      name: task({ event: "audit.invented" }),
      fields: task({ auditText: "x", auditObject: { nested: { deep: true } }, auditList: [1, null, "x"] }),
      subTaskType: stage({ subTaskType: "audit-invented-stage" }),
      taskType: task({ taskType: "AUDIT_INVENTED" }),
    },
  }),
  "events.error-in-grace": probe.mustAcknowledge({
    title: "accepts a failed task without a customer error",
    sent: "task.failed with customerError null, as it is during the retry grace period",
    fix: "Treat customerError as optional: the event is sent before the failure is classified.",
    change: task(taskFailed),
  }),
  "events.documents-other-list": probe.mustAcknowledge({
    title: "accepts documents.synced with any name of its list",
    sent: "documents.synced with its list under `files` instead of `documents`",
    fix: `${acceptUnknown} The interface does not name the list of documents.synced: look for it, do not require it.`,
    change: event((samples) => {
      const { documents, ...rest } = samples.documents();
      return { ...rest, files: documents };
    }),
  }),
  "events.documents-bare-envelope": probe.shouldAcknowledge({
    title: "accepts documents.synced without the envelope of task events",
    sent: "documents.synced with only the fields that the interface names for it",
    fix: `${acceptUnknown} The interface names no envelope for documents.synced; id, version and occurredAt may be absent.`,
    change: event((samples) => {
      const { id, version, occurredAt, workspaceId, ...payload } = samples.documents();
      return payload;
    }),
  }),
  "events.odd-strings": probe.shouldAcknowledge({
    title: "accepts a NUL character and half a surrogate pair in a string",
    sent: "task events whose errorMessage contains the escape \\u0000, or the escape \\ud800 alone",
    fix: "Store the body as bytes; a text or JSON column may not be able to hold every valid JSON text: PostgreSQL's reject \\u0000.",
    change: { NUL: task({ errorMessage: "a\u0000b" }), surrogate: task({ errorMessage: "\ud800" }) },
  }),
  "events.prototype-keys": probe.mustAcknowledge({
    title: "survives keys named like parts of the language",
    sent: "a task event with `__proto__`, `constructor` and `toString` keys, then an ordinary one",
    fix: "Do not merge received objects into others key by key; read the fields you need.",
    change: {
      "with the keys": withFields(
        '"__proto__":{"event":"x","polluted":true},"constructor":{"prototype":{"polluted":true}},"toString":1,',
      ),
      afterwards: probe.unchanged,
    },
  }),
  "events.odd-json": probe.shouldHandle({
    title: "survives a body nested 50,000 levels deep, and a repeated key",
    sent: "a task event with an added field of 50,000 nested objects, an ordinary one, and one with occurredAt twice",
    fix: "Catch errors of the JSON parser, and walk received values without recursion. Use the last of repeated keys, as most parsers do.",
    change: {
      nested: withFields(`"deep":${deepObject},`),
      afterwards: probe.unchanged,
      "repeated key": withFields('"occurredAt":"2020-01-01T00:00:00Z",'),
    },
  }),
  "bodies.not-json": unusable({
    title: "handles a signed body that is not JSON",
    sent: "correctly signed deliveries whose bodies are empty, text, XML, truncated JSON, NUL bytes, JSON behind a byte order mark, and not UTF-8",
    fix: `${quarantineIt} Verify over bytes, then decode strictly.`,
    change: {
      empty: body(""),
      text: body("hello"),
      xml: body("<event/>"),
      truncated: body('{"event":"task.running","taskId":"'),
      NUL: body(Buffer.alloc(16)),
      "byte order mark": probe.edited((text) => `\uFEFF${text}`),
      "0xFF": probe.edited((text) => Buffer.from(text.replace("audit-", "\u00ff"), "latin1")),
    },
  }),
  "bodies.not-an-event": unusable({
    title: "handles signed JSON that is not an event",
    sent: "correctly signed deliveries whose bodies are `[]`, `null`, `123`, a string, `{}`, only a name, and fields of wrong types",
    fix: `${quarantineIt} JSON.parse accepts \`null\` and arrays; reading their properties then fails.`,
    change: probe.each(
      [
        "[]",
        "null",
        "123",
        '"x"',
        "{}",
        '{"event":"task.completed"}',
        '{"event":"task.completed","taskId":{"a":1},"occurredAt":12,"status":[]}',
      ],
      body,
    ),
  }),
  "bodies.impossible-times": unusable({
    title: "handles impossible times",
    sent: "signed task events whose occurredAt is 30 February, the year 2999, and not a time",
    fix: "Quarantine events whose occurredAt is invalid or far in the future: as newest state they would block all others.",
    change: {
      "30 February": occurredAt("2026-02-30T00:00:00Z"),
      "year 2999": occurredAt("2999-01-01T00:00:00Z"),
      yesterday: occurredAt("yesterday"),
    },
  }),
};
