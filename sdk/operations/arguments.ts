// Arguments are checked before anything is sent: a mistake then costs no request of the allowance, and
// the error says which field it is. Where interface §7 has words for it, the error has the same words and
// the same code as the service's own answer.

import {
  abortSignal,
  anything,
  atLeast,
  type Check,
  check,
  durationMs,
  filledList,
  flag,
  functionOf,
  integer,
  list,
  nullish,
  oneOf,
  only,
  optional,
  refusedUnless,
  such,
  text,
  textSuch,
  wholeNumber,
  withDefault,
} from "../check.ts";
import { WorkspaceTasksError } from "../errors.ts";
import type { TaskStatus } from "../generated/operations.ts";
import { isLoopback } from "../loopback.ts";
import type { UploadProgress } from "../uploads/uploads.ts";
import type { Task } from "./task.ts";

/** Returns the checked value, or throws an error with outcome `not_sent`. `method` is how the caller knows it. */
export function checkArguments<Value>(method: string, by: Check<Value>, value: unknown): Value {
  return check(by, value, ({ code, message }) =>
    code === undefined
      ? new WorkspaceTasksError("ARGUMENT_INVALID", `${method}: ${message}`)
      : new WorkspaceTasksError(code, message),
  );
}

export const identifier = textSuch("a string", (value) => value !== "", "an empty one");
export const nonBlank = textSuch("a string that is not blank", (value) => value.trim() !== "", "a blank one");

// Only typed as the statuses of today: one that the service adds later can be asked for as well.
const taskStatus = identifier as Check<TaskStatus>;
const emailAddress = textSuch("an e-mail address", (value) => value.includes("@"), "a string without @");

const deliveryUrl = refusedUnless(
  text,
  (value) => {
    if (!URL.canParse(value)) return false;
    const { protocol, hostname } = new URL(value);
    return protocol === "https:" || (protocol === "http:" && isLoopback(hostname));
  },
  "WEBHOOK_ENDPOINT_URL_INVALID",
  "Webhook endpoint url must be an HTTPS URL",
);

const eventTypes = refusedUnless(
  list(identifier),
  (names) => names.length > 0,
  "WEBHOOK_EVENT_TYPE_REQUIRED",
  "At least one webhook event type is required",
);

export const createEndpointInput = only({
  url: deliveryUrl,
  description: nullish(text),
  eventTypes: nullish(eventTypes),
});

export const updateEndpointInput = refusedUnless(
  only({
    endpointId: identifier,
    url: nullish(deliveryUrl),
    description: nullish(text),
    enabled: nullish(flag),
    eventTypes: nullish(eventTypes),
  }),
  ({ endpointId: _, ...fields }) => Object.values(fields).some((value) => value !== undefined),
  "WEBHOOK_ENDPOINT_FIELD_REQUIRED",
  "At least one endpoint field must be updated",
);

export const rotateSecretInput = only({
  endpointId: identifier,
  gracePeriodSeconds: nullish(
    refusedUnless(
      wholeNumber,
      (seconds) => seconds >= 0 && seconds <= 604_800,
      "SECRET_GRACE_PERIOD_OUT_OF_RANGE",
      "Secret grace period must be between 0 and 604800 seconds",
    ),
  ),
});

export const listEndpointsInput = only({
  limit: optional(
    refusedUnless(
      wholeNumber,
      (limit) => limit >= 1 && limit <= 100,
      "WEBHOOK_ENDPOINT_LIMIT_OUT_OF_RANGE",
      "Webhook endpoint limit must be between 1 and 100",
    ),
  ),
  iterator: nullish(identifier),
});

// Where the interface does not show every field of an input, others pass through: the service knows best.

export const createWorkspaceInput = atLeast({
  displayName: nonBlank,
  firmSize: nullish(oneOf("xs", "sm", "md", "lg", "xl")),
  metadata: nullish(such<Readonly<Record<string, unknown>>>("a plain object", isPlainObject)),
});

export const addUsersInput = only({ workspaceId: identifier, userEmails: filledList(emailAddress) });

export const startConnectionInput = only({
  workspaceId: identifier,
  providerKey: identifier,
  inputs: anything,
});

export const collectConnectionInput = only({ connectionId: identifier, inputs: anything });

export const createJobInput = only({ connectionId: identifier, jobName: nonBlank });

export const jobWorksInput = filledList(atLeast({ name: text, externalId: identifier }));

export const artifactsInput = filledList(
  atLeast({ name: text, type: text, externalId: identifier, url: nullish(text), metadata: anything }),
);

export const createClientInput = atLeast({
  name: nonBlank,
  externalId: identifier,
  returnType: identifier,
  taxYear: wholeNumber,
  uploadIds: nullish(list(identifier)),
});

export const addDocumentsInput = atLeast({ clientId: identifier, uploadIds: filledList(identifier) });

export const triggerTaxPrepInput = atLeast({ clientId: identifier, returnType: identifier });

// The service's own limits for these lists are not shown; these are the ones of the endpoint list.
const pageSize = integer(1, 100);
const offsetWindow = {
  offset: withDefault(integer(0, Number.MAX_SAFE_INTEGER), 0),
  limit: withDefault(pageSize, 20),
};

export const listClientsInput = only(offsetWindow);

export const listTasksInput = only({
  ...offsetWindow,
  ids: optional(list(identifier)),
  types: optional(list(identifier)),
  statuses: optional(list(taskStatus)),
  clientIds: optional(list(identifier)),
});

export const waitForInput = only({
  signal: optional(abortSignal),
  deadlineMs: withDefault(durationMs, 3_600_000),
  pollIntervalMs: withDefault(durationMs, 2_000),
  pollIntervalMsMax: withDefault(durationMs, 15_000),
  onProgress: optional(functionOf<(task: Task) => void>()),
});

export const uploadInput = only({
  fileName: nonBlank,
  mimeType: nonBlank,
  intent: optional(text),
  sizeBytes: optional(integer(0, Number.MAX_SAFE_INTEGER)),
  chunkBytes: withDefault(integer(1, 100_000_000), 5_000_000),
  resumeUrl: optional(identifier),
  onProgress: optional(functionOf<(progress: UploadProgress) => void>()),
  signal: optional(abortSignal),
  timeoutMs: withDefault(durationMs, 120_000),
  deadlineMs: optional(durationMs),
  maxRetries: optional(integer(0, 100)),
});

// The options that every call takes are checked by the engine.
export const requestInput = atLeast({
  router: withDefault(oneOf("base", "gateway"), "base"),
  authenticated: withDefault(flag, true),
});

export const listClientTasksInput = only({
  type: optional(identifier),
  status: optional(taskStatus),
  triggeredBy: optional(identifier),
  limit: optional(pageSize),
});

function isPlainObject(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}
