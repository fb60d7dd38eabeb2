// Example payloads, for commands and checks that send events which no task caused. Imports no schemas, as catalog.ts.

import { type EventKind, events, type KnownEventName, payloadVersion, requireEventName } from "./catalog.ts";

const uuid = (number: number) => `00000000-0000-4000-8000-${String(number).padStart(12, "0")}`;

const aboutTask = { taskId: uuid(4), taskType: "TAX_PREP", errorMessage: null };

const ofKind: Readonly<Record<EventKind, Readonly<Record<string, unknown>>>> = {
  task: { ...aboutTask, taxPrepResult: null, customerError: null },
  stage: { ...aboutTask, subTaskId: uuid(5), subTaskType: "tax-extraction" },
  documents: {
    connectionId: uuid(6),
    providerKey: "example-provider",
    sourceExternalId: "folder-1",
    documents: [{ inputDocumentId: uuid(7), fileName: "w2.pdf", mimeType: "application/pdf" }],
    duplicateCount: 0,
  },
};

type Payload = Readonly<Record<string, unknown>>;

/** A whole payload of the event, with the same ids and the same time at each call. */
export const exampleEvent = (name: KnownEventName): Payload => ({
  id: uuid(1),
  event: name,
  version: payloadVersion,
  occurredAt: "2026-03-01T09:30:00.000Z",
  workspaceId: uuid(2),
  ...exampleFields(name),
});

/** What an event has beside id, name, version, time and workspace, which the sender adds. */
export function exampleFields(name: KnownEventName): Payload {
  requireEventName("exampleEvent", name);
  const { kind, status, ...row } = events[name];
  const example = "example" in row ? row.example : {};
  return { clientId: uuid(3), ...(status === "" ? {} : { status }), ...ofKind[kind], ...example };
}
