// Arguments are checked before anything is sent: a mistake then costs no request of the allowance, and
// the error says which field it is. Where interface §7 has words for it, the error has the same words and
// the same code as the service's own answer. Messages name fields and kinds, never the values found.

import { z } from "zod";
import { type ErrorCode, WorkspaceTasksError } from "../errors.ts";
import type { TaskStatus } from "../generated/operations.ts";
import type { UploadProgress } from "../uploads/uploads.ts";
import type { Task } from "./task.ts";

/** Returns the checked value, or throws an error with outcome `not_sent`. `method` is how the caller knows it. */
export function checkArguments<Schema extends z.ZodType>(
  method: string,
  schema: Schema,
  value: unknown,
): z.output<Schema> {
  const checked = schema.safeParse(value);
  if (checked.success) return checked.data;
  const [issue] = checked.error.issues;
  throw toError(method, issue, value);
}

/** Fails a check with the service's own words. */
export function refuseWith(code: ErrorCode, message: string) {
  return { message, params: { errorCode: code } };
}

export const identifier = z.string().min(1);

// Only typed as the statuses of today: one that the service adds later can be asked for as well.
const taskStatus = identifier.transform((status) => status as TaskStatus);
export const nonBlank = z.string().refine((text) => text.trim() !== "", "expected a text that is not blank");

const loopbackHosts = /^(localhost|.+\.localhost|127(\.\d{1,3}){3}|\[::1\])$/;

const deliveryUrl = z.string().refine(
  (text) => {
    if (!URL.canParse(text)) return false;
    const { protocol, hostname } = new URL(text);
    return protocol === "https:" || (protocol === "http:" && loopbackHosts.test(hostname));
  },
  refuseWith("WEBHOOK_ENDPOINT_URL_INVALID", "Webhook endpoint url must be an HTTPS URL"),
);

const eventTypes = z
  .array(identifier)
  .refine(
    (names) => names.length > 0,
    refuseWith("WEBHOOK_EVENT_TYPE_REQUIRED", "At least one webhook event type is required"),
  );

export const createEndpointInput = z.strictObject({
  url: deliveryUrl,
  description: z.string().nullish(),
  eventTypes: eventTypes.nullish(),
});

export const updateEndpointInput = z
  .strictObject({
    endpointId: identifier,
    url: deliveryUrl.nullish(),
    description: z.string().nullish(),
    enabled: z.boolean().nullish(),
    eventTypes: eventTypes.nullish(),
  })
  .refine(
    ({ endpointId: _, ...fields }) => Object.values(fields).some((value) => value !== undefined),
    refuseWith("WEBHOOK_ENDPOINT_FIELD_REQUIRED", "At least one endpoint field must be updated"),
  );

export const rotateSecretInput = z.strictObject({
  endpointId: identifier,
  gracePeriodSeconds: z
    .int()
    .refine(
      (seconds) => seconds >= 0 && seconds <= 604_800,
      refuseWith(
        "SECRET_GRACE_PERIOD_OUT_OF_RANGE",
        "Secret grace period must be between 0 and 604800 seconds",
      ),
    )
    .nullish(),
});

export const listEndpointsInput = z.strictObject({
  limit: z
    .int()
    .refine(
      (limit) => limit >= 1 && limit <= 100,
      refuseWith("WEBHOOK_ENDPOINT_LIMIT_OUT_OF_RANGE", "Webhook endpoint limit must be between 1 and 100"),
    )
    .optional(),
  iterator: identifier.nullish(),
});

// Where the interface does not show every field of an input, others pass through: the service knows best.

export const createWorkspaceInput = z.looseObject({
  displayName: nonBlank,
  firmSize: z.enum(["xs", "sm", "md", "lg", "xl"]).nullish(),
  metadata: z.record(z.string(), z.unknown()).nullish(),
});

export const addUsersInput = z.strictObject({
  workspaceId: identifier,
  userEmails: z.array(z.string().includes("@")).min(1),
});

export const startConnectionInput = z.strictObject({
  workspaceId: identifier,
  providerKey: identifier,
  inputs: z.unknown().optional(),
});

export const collectConnectionInput = z.strictObject({
  connectionId: identifier,
  inputs: z.unknown().optional(),
});

export const createJobInput = z.strictObject({ connectionId: identifier, jobName: nonBlank });

export const jobWorksInput = z.array(z.looseObject({ name: z.string(), externalId: identifier })).min(1);

export const artifactsInput = z
  .array(
    z.looseObject({
      name: z.string(),
      type: z.string(),
      externalId: identifier,
      url: z.string().nullish(),
      metadata: z.unknown().optional(),
    }),
  )
  .min(1);

export const createClientInput = z.looseObject({
  name: nonBlank,
  externalId: identifier,
  returnType: identifier,
  taxYear: z.int(),
  uploadIds: z.array(identifier).nullish(),
});

export const addDocumentsInput = z.looseObject({
  clientId: identifier,
  uploadIds: z.array(identifier).min(1),
});

export const triggerTaxPrepInput = z.looseObject({ clientId: identifier, returnType: identifier });

// The service's own limits for these lists are not shown; these are the ones of the endpoint list.
const offsetWindow = { offset: z.int().min(0).default(0), limit: z.int().min(1).max(100).default(20) };

export const listClientsInput = z.strictObject(offsetWindow);

export const listTasksInput = z.strictObject({
  ...offsetWindow,
  ids: z.array(identifier).optional(),
  types: z.array(identifier).optional(),
  statuses: z.array(taskStatus).optional(),
  clientIds: z.array(identifier).optional(),
});

const timerDelayMsMax = 2_147_483_647;

export const waitForInput = z.strictObject({
  signal: z.instanceof(AbortSignal).optional(),
  deadlineMs: z.int().min(1).max(timerDelayMsMax).default(3_600_000),
  pollIntervalMs: z.int().min(1).max(timerDelayMsMax).default(2_000),
  pollIntervalMsMax: z.int().min(1).max(timerDelayMsMax).default(15_000),
  onProgress: z
    .custom<(task: Task) => void>((value) => typeof value === "function", "expected a function")
    .optional(),
});

export const uploadInput = z.strictObject({
  fileName: nonBlank,
  mimeType: nonBlank,
  intent: z.string().optional(),
  sizeBytes: z.int().min(0).optional(),
  chunkBytes: z.int().min(1).max(100_000_000).default(5_000_000),
  resumeUrl: identifier.optional(),
  onProgress: z
    .custom<(progress: UploadProgress) => void>((value) => typeof value === "function", "expected a function")
    .optional(),
  signal: z.instanceof(AbortSignal).optional(),
  timeoutMs: z.int().min(1).max(timerDelayMsMax).default(120_000),
  deadlineMs: z.int().min(1).max(timerDelayMsMax).optional(),
  maxRetries: z.int().min(0).max(100).optional(),
});

// The options that every call takes are checked by the engine.
export const requestInput = z.looseObject({
  router: z.enum(["base", "gateway"]).default("base"),
  authenticated: z.boolean().default(true),
});

export const listClientTasksInput = z.strictObject({
  type: identifier.optional(),
  status: taskStatus.optional(),
  triggeredBy: identifier.optional(),
  limit: z.int().min(1).max(100).optional(),
});

function toError(method: string, issue: z.core.$ZodIssue | undefined, value: unknown): WorkspaceTasksError {
  const code = issue?.code === "custom" ? issue.params?.["errorCode"] : undefined;
  if (issue && code !== undefined) return new WorkspaceTasksError(code as ErrorCode, issue.message);
  const field = issue && issue.path.length > 0 ? `${issue.path.join(".")}: ` : "";
  const complaint = issue ? describe(issue, value) : "not valid";
  return new WorkspaceTasksError("ARGUMENT_INVALID", `${method}: ${field}${complaint}`);
}

function describe(issue: z.core.$ZodIssue, value: unknown): string {
  switch (issue.code) {
    case "invalid_type":
      return `expected ${issue.expected}, got ${kindOf(valueAt(value, issue.path))}`;
    case "invalid_value":
      return `expected one of ${issue.values.join(", ")}, got another ${kindOf(valueAt(value, issue.path))}`;
    case "unrecognized_keys":
      return `expected only known fields, got ${issue.keys.join(", ")}`;
    case "too_small":
      return `expected ${boundOf(issue.origin, "at least", issue.minimum)}, got less`;
    case "too_big":
      return `expected ${boundOf(issue.origin, "at most", issue.maximum)}, got more`;
    case "custom":
      return `${issue.message}, got another`;
    default:
      return `expected another format of ${kindOf(valueAt(value, issue.path))}`;
  }
}

function boundOf(origin: string, relation: string, bound: number | bigint): string {
  if (origin === "string") return `${relation} ${bound} character${bound === 1 ? "" : "s"}`;
  if (origin === "array") return `${relation} ${bound} entr${bound === 1 ? "y" : "ies"}`;
  return `${relation} ${bound}`;
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (inner, key) => (typeof inner === "object" && inner !== null ? Reflect.get(inner, key) : undefined),
    value,
  );
}

function kindOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  if (typeof value === "number" && !Number.isInteger(value)) return "a number that is not whole";
  return typeof value;
}
