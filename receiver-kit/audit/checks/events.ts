import { completedTaxPrep } from "../target/sample-events.ts";
import type { CheckTable } from "./check.ts";
import { mustAcknowledge, shouldAcknowledge, shouldHandle } from "./probe-check.ts";

const acceptUnknown =
  "Store what you do not know and acknowledge it; a schema that rejects it makes the sender retry for days.";
const asBytes =
  "Store the body as bytes; a text or JSON column may not be able to hold every valid JSON text.";

/** An object deep enough to exhaust the stack of a recursive reader. */
const deepObject = (levels: number) => `${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`;

export const eventChecks: CheckTable = {
  "events.catalog": mustAcknowledge({
    title: "accepts every event of the catalog",
    sent: "one delivery of each of the six events",
    fix: "Accept each event the endpoint is subscribed to; without a subscription list it receives all of them.",
    probes({ samples: { task, stage, documents }, compose }) {
      const failure = { errorMessage: "audit" };
      const customerError = { code: "INTERNAL", action: { type: "CONTACT_SUPPORT", connectionId: null } };
      return [
        task(),
        task(completedTaxPrep()),
        task({ event: "task.failed", status: "FAILED", ...failure, customerError }),
        stage(),
        stage({ event: "subtask.failed", status: "FAILED", ...failure }),
        documents(),
      ].map((payload) => ({ label: String(payload["event"]), delivery: compose({ payload }) }));
    },
  }),
  "events.unknown-name": mustAcknowledge({
    title: "acknowledges an event with an unknown name",
    sent: "a delivery of the event `audit.invented`",
    fix: `${acceptUnknown} The catalog grows, and an endpoint without a list receives new events too.`,
    probes: ({ compose, samples }) => compose({ payload: samples.task({ event: "audit.invented" }) }),
  }),
  "events.unknown-fields": mustAcknowledge({
    title: "ignores unknown fields",
    sent: "a task event with an added string, an added object and an added array",
    fix: `${acceptUnknown} Validate loosely: require what you use, ignore the rest.`,
    probes: ({ compose, samples }) =>
      compose({
        payload: samples.task({
          auditText: "x",
          auditObject: { nested: { deep: true } },
          auditList: [1, null, "x"],
        }),
      }),
  }),
  "events.unknown-stage": mustAcknowledge({
    title: "accepts an unknown stage",
    sent: "subtask.completed with a new subTaskType",
    fix: `${acceptUnknown} subTaskType is free text and grows without a new version.`,
    probes: ({ compose, samples }) =>
      compose({ payload: samples.stage({ subTaskType: "audit-invented-stage" }) }),
  }),
  "events.unknown-task-type": mustAcknowledge({
    title: "accepts an unknown task type",
    sent: "task.running with the task type AUDIT_INVENTED",
    fix: `${acceptUnknown} Store the task type as text, not as a closed enumeration.`,
    probes: ({ compose, samples }) => compose({ payload: samples.task({ taskType: "AUDIT_INVENTED" }) }),
  }),
  "events.error-in-grace": mustAcknowledge({
    title: "accepts a failed task without a customer error",
    sent: "task.failed with customerError null, as it is during the retry grace period",
    fix: "Treat customerError as optional: the event is sent before the failure is classified.",
    probes: ({ compose, samples }) =>
      compose({ payload: samples.task({ event: "task.failed", status: "FAILED", errorMessage: "audit" }) }),
  }),
  "events.documents-other-list": mustAcknowledge({
    title: "accepts documents.synced with any name of its list",
    sent: "documents.synced with its list under `files` instead of `documents`",
    fix: `${acceptUnknown} The interface does not name the list of documents.synced: look for it, do not require it.`,
    probes({ compose, samples }) {
      const { documents, ...rest } = samples.documents();
      return compose({ payload: { ...rest, files: documents } });
    },
  }),
  "events.documents-bare-envelope": shouldAcknowledge({
    title: "accepts documents.synced without the envelope of task events",
    sent: "documents.synced with only the fields that the interface names for it",
    fix: `${acceptUnknown} The interface names no envelope for documents.synced; id, version and occurredAt may be absent.`,
    probes({ compose, samples }) {
      const { id, version, occurredAt, workspaceId, ...payload } = samples.documents();
      return compose({ payload });
    },
  }),
  "events.nul": shouldAcknowledge({
    title: "accepts a NUL character in a string",
    sent: "a task event whose errorMessage contains the escape \\u0000",
    fix: `${asBytes} PostgreSQL's text and jsonb reject \\u0000.`,
    probes: ({ compose, samples }) => compose({ payload: samples.task({ errorMessage: "a\u0000b" }) }),
  }),
  "events.lone-surrogate": shouldAcknowledge({
    title: "accepts half a surrogate pair in a string",
    sent: "a task event whose errorMessage contains the escape \\ud800 alone",
    fix: asBytes,
    probes: ({ compose, samples }) => compose({ payload: samples.task({ errorMessage: "\ud800" }) }),
  }),
  "events.prototype-keys": mustAcknowledge({
    title: "survives keys named like parts of the language",
    sent: "a task event with `__proto__`, `constructor` and `toString` keys, then an ordinary one",
    fix: "Do not merge received objects into others key by key; read the fields you need.",
    probes(target) {
      const text = JSON.stringify(target.samples.task());
      const keys =
        '"__proto__":{"event":"x","polluted":true},"constructor":{"prototype":{"polluted":true}},"toString":1,';
      return [
        { label: "with the keys", delivery: target.compose({ body: text.replace("{", `{${keys}`) }) },
        { label: "afterwards", delivery: target.compose() },
      ];
    },
  }),
  "events.deep-nesting": shouldHandle({
    title: "survives a body nested 50,000 levels deep",
    sent: "a task event with an added field of 50,000 nested objects, then an ordinary one",
    fix: "Catch errors of the JSON parser, and walk received values without recursion.",
    probes(target) {
      const text = JSON.stringify(target.samples.task());
      const body = text.replace("{", `{"deep":${deepObject(50_000)},`);
      return [
        { label: "nested", delivery: target.compose({ body }) },
        { label: "afterwards", delivery: target.compose() },
      ];
    },
  }),
  "events.repeated-keys": shouldHandle({
    title: "handles a repeated key",
    sent: "a task event with occurredAt twice",
    fix: "Use the last value, as most parsers do, or quarantine the delivery; do not respond with a 5xx.",
    probes(target) {
      const text = JSON.stringify(target.samples.task());
      return target.compose({ body: text.replace("{", '{"occurredAt":"2020-01-01T00:00:00Z",') });
    },
  }),
};
