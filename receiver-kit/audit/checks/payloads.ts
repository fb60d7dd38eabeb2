import { knownEventNames } from "../../../sdk/events/index.ts";
import type { JsonObject, SampleEvents } from "../target/sample-events.ts";
import type { CheckTable } from "./check.ts";
import {
  type Change,
  each,
  edited,
  mustAcknowledge,
  type ProbeCheck,
  shouldAcknowledge,
  shouldHandle,
  unchanged,
} from "./probe-check.ts";

const acceptUnknown =
  "Store what you do not know and acknowledge it; a schema that rejects it makes the sender retry for days.";
const asBytes =
  "Store the body as bytes; a text or JSON column may not be able to hold every valid JSON text.";

const event =
  (payloadOf: (samples: SampleEvents) => JsonObject): Change =>
  (_, { samples, compose }) =>
    compose({ payload: payloadOf(samples) });

const task = (overrides?: JsonObject) => event((samples) => samples.task(overrides));
const stage = (overrides?: JsonObject) => event((samples) => samples.stage(overrides));

/** Writes text in front of the fields of a task event. */
const withFields = (fields: string) => edited((text) => text.replace("{", `{${fields}`));

const taskFailed = { event: "task.failed", status: "FAILED", errorMessage: "audit" };

/** Deep enough to exhaust the stack of a recursive reader. */
const deepObject = `${'{"a":'.repeat(50_000)}1${"}".repeat(50_000)}`;

// A signed body that cannot be used was sent by the real sender. Quarantined (2xx) it can be inspected and replayed;
// rejected (4xx) it is retried in vain for days. Both are acceptable; a 5xx or a timeout is not.
const quarantineIt =
  "Parse the body in a try block after verifying; store what cannot be parsed, acknowledge it and raise an alarm.";

const unusable = (check: Omit<ProbeCheck, "fix"> & { readonly fix?: string }) =>
  shouldHandle({ fix: quarantineIt, expected: "2xx (quarantined) or 4xx, in time", ...check });

const body = (text: string | Buffer) => edited(() => text);
const occurredAt = (time: string) =>
  edited((text) => text.replace(/"occurredAt":"[^"]*"/, `"occurredAt":"${time}"`));

export const payloadChecks: CheckTable = {
  "events.catalog": mustAcknowledge({
    title: "accepts every event of the catalog",
    sent: "one delivery of each event of the catalog",
    fix: "Accept each event the endpoint is subscribed to; without a subscription list it receives all of them.",
    change: each(knownEventNames, (name) => event((samples) => samples.of(name))),
  }),
  "events.unknown-name": mustAcknowledge({
    title: "acknowledges an event with an unknown name",
    sent: "a delivery of the event `audit.invented`",
    fix: `${acceptUnknown} The catalog grows, and an endpoint without a list receives new events too.`,
    change: task({ event: "audit.invented" }),
  }),
  "events.unknown-fields": mustAcknowledge({
    title: "ignores unknown fields",
    sent: "a task event with an added string, an added object and an added array",
    fix: `${acceptUnknown} Validate loosely: require what you use, ignore the rest.`,
    change: task({ auditText: "x", auditObject: { nested: { deep: true } }, auditList: [1, null, "x"] }),
  }),
  "events.unknown-stage": mustAcknowledge({
    title: "accepts an unknown stage",
    sent: "subtask.completed with a new subTaskType",
    fix: `${acceptUnknown} subTaskType is free text and grows without a new version.`,
    change: stage({ subTaskType: "audit-invented-stage" }),
  }),
  "events.unknown-task-type": mustAcknowledge({
    title: "accepts an unknown task type",
    sent: "task.running with the task type AUDIT_INVENTED",
    fix: `${acceptUnknown} Store the task type as text, not as a closed enumeration.`,
    change: task({ taskType: "AUDIT_INVENTED" }),
  }),
  "events.error-in-grace": mustAcknowledge({
    title: "accepts a failed task without a customer error",
    sent: "task.failed with customerError null, as it is during the retry grace period",
    fix: "Treat customerError as optional: the event is sent before the failure is classified.",
    change: task(taskFailed),
  }),
  "events.documents-other-list": mustAcknowledge({
    title: "accepts documents.synced with any name of its list",
    sent: "documents.synced with its list under `files` instead of `documents`",
    fix: `${acceptUnknown} The interface does not name the list of documents.synced: look for it, do not require it.`,
    change: event((samples) => {
      const { documents, ...rest } = samples.documents();
      return { ...rest, files: documents };
    }),
  }),
  "events.documents-bare-envelope": shouldAcknowledge({
    title: "accepts documents.synced without the envelope of task events",
    sent: "documents.synced with only the fields that the interface names for it",
    fix: `${acceptUnknown} The interface names no envelope for documents.synced; id, version and occurredAt may be absent.`,
    change: event((samples) => {
      const { id, version, occurredAt, workspaceId, ...payload } = samples.documents();
      return payload;
    }),
  }),
  "events.nul": shouldAcknowledge({
    title: "accepts a NUL character in a string",
    sent: "a task event whose errorMessage contains the escape \\u0000",
    fix: `${asBytes} PostgreSQL's text and jsonb reject \\u0000.`,
    change: task({ errorMessage: "a\u0000b" }),
  }),
  "events.lone-surrogate": shouldAcknowledge({
    title: "accepts half a surrogate pair in a string",
    sent: "a task event whose errorMessage contains the escape \\ud800 alone",
    fix: asBytes,
    change: task({ errorMessage: "\ud800" }),
  }),
  "events.prototype-keys": mustAcknowledge({
    title: "survives keys named like parts of the language",
    sent: "a task event with `__proto__`, `constructor` and `toString` keys, then an ordinary one",
    fix: "Do not merge received objects into others key by key; read the fields you need.",
    change: {
      "with the keys": withFields(
        '"__proto__":{"event":"x","polluted":true},"constructor":{"prototype":{"polluted":true}},"toString":1,',
      ),
      afterwards: unchanged,
    },
  }),
  "events.deep-nesting": shouldHandle({
    title: "survives a body nested 50,000 levels deep",
    sent: "a task event with an added field of 50,000 nested objects, then an ordinary one",
    fix: "Catch errors of the JSON parser, and walk received values without recursion.",
    change: { nested: withFields(`"deep":${deepObject},`), afterwards: unchanged },
  }),
  "events.repeated-keys": shouldHandle({
    title: "handles a repeated key",
    sent: "a task event with occurredAt twice",
    fix: "Use the last value, as most parsers do, or quarantine the delivery; do not respond with a 5xx.",
    change: withFields('"occurredAt":"2020-01-01T00:00:00Z",'),
  }),
  "bodies.empty": unusable({
    title: "handles a signed empty body",
    sent: "a correctly signed delivery without a body",
    change: { empty: body("") },
  }),
  "bodies.not-json": unusable({
    title: "handles a signed body that is not JSON",
    sent: "correctly signed deliveries whose bodies are plain text, XML, and truncated JSON",
    change: {
      text: body("hello"),
      xml: body("<event/>"),
      truncated: body('{"event":"task.running","taskId":"'),
    },
  }),
  "bodies.not-an-object": unusable({
    title: "handles signed JSON that is not an object",
    sent: "correctly signed deliveries whose bodies are `[]`, `null`, `123` and a string",
    fix: `${quarantineIt} JSON.parse accepts \`null\` and arrays; reading their properties then fails.`,
    change: { array: body("[]"), null: body("null"), number: body("123"), string: body('"x"') },
  }),
  "bodies.byte-order-mark": unusable({
    title: "handles a signed byte order mark",
    sent: "a delivery with EF BB BF in front of the JSON, signed that way",
    change: { "byte order mark": edited((text) => `\uFEFF${text}`) },
  }),
  "bodies.not-utf8": unusable({
    title: "handles signed bytes that are not UTF-8",
    sent: "a delivery with the byte 0xFF inside a string, signed over exactly these bytes",
    fix: `${quarantineIt} Verify over bytes, then decode strictly.`,
    change: { "0xFF": edited((text) => Buffer.from(text.replace("audit-", "\u00ff"), "latin1")) },
  }),
  "bodies.nul-bytes": unusable({
    title: "handles raw NUL bytes",
    sent: "a signed body of sixteen NUL bytes",
    change: { NUL: body(Buffer.alloc(16)) },
  }),
  "bodies.missing-fields": unusable({
    title: "handles an event without its fields",
    sent: "signed task events with no field but the name, with no name, and with fields of wrong types",
    change: {
      "name only": body('{"event":"task.completed"}'),
      "no name": body("{}"),
      "wrong types": body('{"event":"task.completed","taskId":{"a":1},"occurredAt":12,"status":[]}'),
    },
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
