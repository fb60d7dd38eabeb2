import { completedTaxPrep } from "../target/sample-events.ts";
import type { AuditCheck } from "./check.ts";
import { acknowledgedCheck, handledCheck } from "./probe-check.ts";

const stayOpen =
  "Store what you do not know and acknowledge it; a schema that refuses it makes the sender retry for days.";
const asBytes =
  "Store the body as bytes; a text or JSON column may not be able to hold every valid JSON text.";

/** An object deep enough to exhaust the stack of a recursive reader. */
const deepObject = (levels: number) => `${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`;

export const eventChecks: readonly AuditCheck[] = [
  acknowledgedCheck({
    id: "events.catalog",
    requirement: "MUST",
    title: "accepts every event of the catalog",
    sent: "one delivery of each of the six events",
    mend: "Accept each event the endpoint is subscribed to; without a subscription list it gets all of them.",
    shots: (target) => {
      const { task, stage, documents } = target.samples;
      const failure = { errorMessage: "audit" };
      const customerError = { code: "INTERNAL", action: { type: "CONTACT_SUPPORT", connectionId: null } };
      return [
        task(),
        task(completedTaxPrep()),
        task({ event: "task.failed", status: "FAILED", ...failure, customerError }),
        stage(),
        stage({ event: "subtask.failed", status: "FAILED", ...failure }),
        documents(),
      ].map((payload) => ({ label: String(payload["event"]), delivery: target.compose({ payload }) }));
    },
  }),
  acknowledgedCheck({
    id: "events.unknown-name",
    requirement: "MUST",
    title: "acknowledges an event it has never heard of",
    sent: "a delivery of the event `audit.invented`",
    mend: `${stayOpen} The catalog grows, and an endpoint without a list gets new events too.`,
    shots: (target) => [
      { delivery: target.compose({ payload: target.samples.task({ event: "audit.invented" }) }) },
    ],
  }),
  acknowledgedCheck({
    id: "events.unknown-fields",
    requirement: "MUST",
    title: "ignores fields it does not know",
    sent: "a task event with an added text, an added object and an added list",
    mend: `${stayOpen} Validate loosely: require what you use, ignore the rest.`,
    shots: (target) => {
      const added = { auditText: "x", auditObject: { nested: { deep: true } }, auditList: [1, null, "x"] };
      return [{ delivery: target.compose({ payload: target.samples.task(added) }) }];
    },
  }),
  acknowledgedCheck({
    id: "events.unknown-stage",
    requirement: "MUST",
    title: "accepts a stage it does not know",
    sent: "subtask.completed with a subTaskType that nobody has used",
    mend: `${stayOpen} subTaskType is free text and grows without a new version.`,
    shots: (target) => [
      {
        delivery: target.compose({ payload: target.samples.stage({ subTaskType: "audit-invented-stage" }) }),
      },
    ],
  }),
  acknowledgedCheck({
    id: "events.unknown-task-type",
    requirement: "MUST",
    title: "accepts a task type it does not know",
    sent: "task.running with the task type AUDIT_INVENTED",
    mend: `${stayOpen} Keep the task type as text, not as a closed enumeration.`,
    shots: (target) => [
      { delivery: target.compose({ payload: target.samples.task({ taskType: "AUDIT_INVENTED" }) }) },
    ],
  }),
  acknowledgedCheck({
    id: "events.error-in-grace",
    requirement: "MUST",
    title: "accepts a failed task without a customer error",
    sent: "task.failed with customerError null, as it is during the retry grace period",
    mend: "Treat customerError as absent until it is there: the event comes before the failure is classified.",
    shots: (target) => [
      {
        delivery: target.compose({
          payload: target.samples.task({ event: "task.failed", status: "FAILED", errorMessage: "audit" }),
        }),
      },
    ],
  }),
  acknowledgedCheck({
    id: "events.documents-other-list",
    requirement: "MUST",
    title: "accepts documents.synced whatever its list is called",
    sent: "documents.synced with its list under `files` instead of `documents`",
    mend: `${stayOpen} The interface does not name the list of documents.synced: look for it, do not demand it.`,
    shots: (target) => {
      const { documents, ...rest } = target.samples.documents();
      return [{ delivery: target.compose({ payload: { ...rest, files: documents } }) }];
    },
  }),
  acknowledgedCheck({
    id: "events.documents-bare-envelope",
    requirement: "SHOULD",
    title: "accepts documents.synced without the envelope of task events",
    sent: "documents.synced with only the fields that the interface names for it",
    mend: `${stayOpen} The interface names no envelope for documents.synced; id, version and occurredAt may be absent.`,
    shots: (target) => {
      const { id, version, occurredAt, workspaceId, ...named } = target.samples.documents();
      return [{ delivery: target.compose({ payload: named }) }];
    },
  }),
  acknowledgedCheck({
    id: "events.nul",
    requirement: "SHOULD",
    title: "accepts a NUL character in a text",
    sent: "a task event whose errorMessage holds the escape \\u0000",
    mend: `${asBytes} PostgreSQL's text and jsonb refuse \\u0000.`,
    shots: (target) => [
      { delivery: target.compose({ payload: target.samples.task({ errorMessage: "a\u0000b" }) }) },
    ],
  }),
  acknowledgedCheck({
    id: "events.lone-surrogate",
    requirement: "SHOULD",
    title: "accepts half a surrogate pair in a text",
    sent: "a task event whose errorMessage holds the escape \\ud800 alone",
    mend: asBytes,
    shots: (target) => [
      { delivery: target.compose({ payload: target.samples.task({ errorMessage: "\ud800" }) }) },
    ],
  }),
  acknowledgedCheck({
    id: "events.prototype-keys",
    requirement: "MUST",
    title: "survives keys named like parts of the language",
    sent: "a task event with `__proto__`, `constructor` and `toString` keys, then an ordinary one",
    mend: "Do not merge received objects into others key by key; read the fields you need.",
    shots: (target) => {
      const text = JSON.stringify(target.samples.task());
      const keys =
        '"__proto__":{"event":"x","polluted":true},"constructor":{"prototype":{"polluted":true}},"toString":1,';
      return [
        { label: "with the keys", delivery: target.compose({ body: text.replace("{", `{${keys}`) }) },
        { label: "afterwards", delivery: target.compose() },
      ];
    },
  }),
  handledCheck({
    id: "events.deep-nesting",
    requirement: "SHOULD",
    title: "survives a body nested 50,000 levels deep",
    sent: "a task event with an added field of 50,000 nested objects, then an ordinary one",
    mend: "Catch what the JSON reader throws, and walk received values without recursion.",
    shots: (target) => {
      const text = JSON.stringify(target.samples.task());
      const body = text.replace("{", `{"deep":${deepObject(50_000)},`);
      return [
        { label: "nested", delivery: target.compose({ body }) },
        { label: "afterwards", delivery: target.compose() },
      ];
    },
  }),
  handledCheck({
    id: "events.repeated-keys",
    requirement: "SHOULD",
    title: "copes with a key that comes twice",
    sent: "a task event with occurredAt twice",
    mend: "Take the last one, as most readers do, or keep the delivery aside; do not fail with a 5xx.",
    shots: (target) => {
      const text = JSON.stringify(target.samples.task());
      return [
        { delivery: target.compose({ body: text.replace("{", '{"occurredAt":"2020-01-01T00:00:00Z",') }) },
      ];
    },
  }),
];
