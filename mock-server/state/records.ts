// What the service remembers, one schema per noun; the types are inferred from them. Plain data, times in
// milliseconds since the epoch, so that a snapshot is the state itself. "Stage" is this project's word for
// what the wire calls `subTask`. Only snapshots and the control API need the schemas at run time: everything
// else imports types, so that a mock starts without zod.

import { customerError, taxPrepResult } from "@workspace-tasks/events/fields";
import type { ByteBuffer } from "@workspace-tasks/kernel/bytes.ts";
import * as z from "zod";
import { isHttpUrl, secretForm } from "../checks.ts";
import { durationMsMax } from "../time/duration.ts";
import type { TimerQueueEntry } from "../time/timer-queue.ts";
import { deliveryFaultSchema, type Immutable, routerNames } from "./fault.ts";

const endStatus = z.enum(["COMPLETED", "FAILED"]);

export const stagePlanSchema = z.strictObject({
  /** Free text, for example `tax-extraction`. */
  type: z.string().min(1).describe("Free text, for example `tax-extraction`."),
  durationMs: z.number().nonnegative().max(durationMsMax),
  /** A failed stage fails the task; later stages do not start. Default: `COMPLETED`. */
  status: endStatus.optional().describe("Default: `COMPLETED`."),
  errorMessage: z.string().optional(),
});

export const taskOutcomeSchema = z.strictObject({
  status: endStatus,
  errorMessage: z.string().optional(),
  customerError: customerError.sent.nullable().optional(),
  taxPrepResult: taxPrepResult.sent.optional(),
});

export const taskPlanSchema = z.strictObject({
  progression: z.enum(["immediate", "timed", "manual"]),
  stages: z.array(stagePlanSchema),
  /** How the task ends when no stage has failed. Default: `COMPLETED`. */
  outcome: taskOutcomeSchema.optional(),
});

export const taskPlansSchema = z.record(z.string(), taskPlanSchema);

/**
 * How a task progresses by itself.
 *
 * `immediate` runs all stages and ends the task within the call that starts it, `timed` gives each stage
 * its duration on the mock's clock, `manual` starts the task and leaves the rest to the control API.
 */
export type TaskPlan = Immutable<z.infer<typeof taskPlanSchema>>;

export type StagePlan = Immutable<z.infer<typeof stagePlanSchema>>;

export type TaskOutcome = Immutable<z.infer<typeof taskOutcomeSchema>>;

/** Plans by task type; `*` is the plan of every type without one of its own. */
export type TaskPlans = Readonly<Record<string, TaskPlan>>;

const id = z.string().min(1);
/** A time that a `Date` can have. */
export const atMs = z.number().min(-8.64e15).max(8.64e15);
const texts = z.record(z.string(), z.string());
const plan: z.ZodType<TaskPlan> = taskPlanSchema;
const updated = { createdAtMs: atMs, updatedAtMs: atMs };

export const roleSchema = z.enum(["admin", "l1", "l2", "l3"]);
export const keyAccessSchema = z.enum(["read_only", "read_write"]);
export const taskStatusSchema = z.enum(["RUNNING", "COMPLETED", "FAILED"]);
export const connectionStatusSchema = z.enum(["pending", "active", "failed", "disconnected"]);
export const jobStatusSchema = z.enum(["pending", "active", "completed"]);
export const deliveryStatusSchema = z.enum(["pending", "paused", "succeeded", "failed", "cancelled"]);

const user = z.strictObject({ id, name: z.string(), email: z.string() });

const membership = z.strictObject({
  id,
  userId: id,
  workspaceId: id,
  role: roleSchema,
  createdAtMs: atMs,
});

const workspace = z.strictObject({
  id,
  name: z.string(),
  slug: z.string(),
  displayName: z.string(),
  status: z.string(),
  workspaceType: z.string().nullable(),
  firmSize: z.string().nullable(),
  metadata: z.unknown(),
  createdAtMs: atMs,
  /** The partner account that created it, if one did. */
  partnerId: id.nullable(),
});

/** Its id is a hash of the key: the key itself is shown once and never kept (K8). */
const apiKey = z.strictObject({
  id,
  userId: id,
  workspaceId: id,
  access: keyAccessSchema,
  createdAtMs: atMs,
  expiresAtMs: atMs,
  revokedAtMs: atMs.nullable(),
});

const partnerKey = z.strictObject({
  id,
  /** The partner's account; workspaces it creates have this id. */
  partnerId: id,
  createdAtMs: atMs,
  revokedAtMs: atMs.nullable(),
});

/** An access token that a fault has ended early; `id` is its `jti`. */
const endedToken = z.strictObject({ id, endedAtMs: atMs });

const signingSecret = z.strictObject({
  secret: z.string().regex(secretForm),
  /** `null` for the current secret; otherwise the end of its grace period. */
  expiresAtMs: atMs.nullable(),
});

const endpoint = z.strictObject({
  id,
  workspaceId: id,
  url: z.string().refine(isHttpUrl, "expected the URL of a receiver"),
  description: z.string(),
  enabled: z.boolean(),
  /** `null`: all current and future events. */
  eventTypes: z.array(z.string()).nullable(),
  /** Newest first. */
  secrets: z.array(signingSecret).min(1),
  ...updated,
});

const connection = z.strictObject({
  id,
  workspaceId: id,
  providerKey: z.string(),
  status: connectionStatusSchema,
  displayName: z.string().nullable(),
  /** The credentials of the start step; never read back. */
  startInputs: z.unknown(),
  /** What `collectProviderConnection` stored, echoed as `settings`. */
  settings: z.unknown(),
  ...updated,
});

const job = z.strictObject({
  id,
  workspaceId: id,
  connectionId: id,
  name: z.string(),
  status: jobStatusSchema,
  ...updated,
});

/** A work and its link to the job, created together. */
const jobWork = z.strictObject({
  id,
  workId: id,
  workspaceId: id,
  connectionId: id,
  jobId: id,
  name: z.string(),
  externalId: z.string(),
  /** The `TAX_PREP` task its import has started. */
  taskId: id.exactOptional(),
  ...updated,
});

const artifact = z.strictObject({
  id,
  artifactId: id,
  workspaceId: id,
  jobId: id,
  jobWorkId: id,
  externalId: z.string(),
  name: z.string(),
  type: z.string(),
  status: z.string(),
  url: z.string().refine(isHttpUrl, "expected an HTTP or HTTPS URL").nullable(),
  metadata: z.unknown(),
  ...updated,
});

const client = z.strictObject({
  id,
  workspaceId: id,
  name: z.string(),
  externalId: z.string(),
  status: z.string(),
  returnType: z.string(),
  taxYear: z.int(),
  createdAtMs: atMs,
});

const stage = z.strictObject({
  id,
  type: z.string(),
  status: taskStatusSchema,
  startedAtMs: atMs,
  completedAtMs: atMs.nullable(),
  errorMessage: z.string().nullable(),
});

const task = z.strictObject({
  id,
  workspaceId: id,
  clientId: id,
  type: z.string(),
  status: taskStatusSchema,
  startedAtMs: atMs,
  completedAtMs: atMs.nullable(),
  errorMessage: z.string().nullable(),
  attributes: z.array(z.strictObject({ name: z.string(), value: z.string() })),
  stages: z.array(stage),
  result: taxPrepResult.sent.nullable(),
  customerError: customerError.sent.nullable(),
  triggeredByUserId: id.nullable(),
  /** How often the task has entered a status; makes each change's event id unique and repeatable. */
  changes: z.int(),
  /** When it entered its present status; no two changes of one task share a time. */
  changedAtMs: atMs,
});

/** The position of a task in its plan. */
const progress = z.strictObject({
  taskId: id,
  /** `null`: the plan that the settings have for the task's type. A task keeps the plan it started with. */
  plan: plan.nullable(),
  /** Index of the current stage. */
  stage: z.int(),
  dueAtMs: atMs,
});

/** How tasks of a type progress, instead of what the settings say. */
const taskTypePlan = z.strictObject({ taskType: id, plan });

/** A document held for a client, pulled from a connected system or added by hand. */
const document = z.strictObject({
  id,
  workspaceId: id,
  clientId: id,
  fileName: z.string(),
  mimeType: z.string(),
  /** `null` for a document added by hand. */
  connectionId: id.nullable(),
  /** Its id in the connected system, or the upload's id. */
  externalId: z.string(),
  createdAtMs: atMs,
});

/** An event that joined the catalog at run time. */
const catalogAddition = z.strictObject({
  name: id,
  description: z.string(),
  version: z.string(),
  status: z.string(),
  taskTypes: z.array(z.string()),
  payloadSchema: z.record(z.string(), z.unknown()),
});

const upload = z.strictObject({
  id,
  workspaceId: id,
  lengthBytes: z.int().nullable().describe("`null` until a deferred length is set."),
  offsetBytes: z.int().describe("Bytes received."),
  fileName: z.string(),
  fileType: z.string(),
  metadata: texts.describe("From `Upload-Metadata`."),
  createdAtMs: atMs,
  completedAtMs: atMs.nullable(),
});

const event = z.strictObject({
  id,
  workspaceId: id,
  name: z.string(),
  occurredAtMs: atMs,
  /** What it is about (a task, a connection); first attempts about one subject are sent in order. */
  subject: z.string(),
  /** The exact text that is signed and sent. */
  body: z.string(),
});

export const attemptSchema = z.strictObject({
  number: z.int(),
  /** Only a scheduled attempt counts towards the schedule. */
  kind: z.enum(["scheduled", "duplicate", "replay"]),
  startedAtMs: atMs,
  durationMs: z.number(),
  status: z.int().nullable().describe("HTTP status; `null` without a response."),
  error: z.string().nullable().describe("Why the attempt did not succeed."),
  requestHeaders: texts,
  requestBody: z.string().describe("The exact text that was sent."),
  responseHeaders: texts,
  responseBody: z.string().describe("The first part of the response."),
  responseTruncated: z
    .literal(true)
    .exactOptional()
    .describe("The response was longer than what is kept; absent otherwise."),
  faults: z.array(z.string()).describe("Faults that changed this attempt."),
});

const delivery = z.strictObject({
  /** Also the `webhook-id`: it stays the same over every retry and replay. */
  id,
  eventId: id,
  eventName: z.string(),
  workspaceId: id,
  endpointId: id,
  status: deliveryStatusSchema,
  createdAtMs: atMs,
  nextAttemptAtMs: atMs.nullable(),
  /** Faults already drawn for the next attempt, which one of them has deferred. */
  drawnFaults: z.array(deliveryFaultSchema).exactOptional(),
  /** A `reorder` fault has deferred the next attempt until another one to the endpoint has been sent. */
  reordered: z.literal(true).exactOptional(),
  attempts: z.array(attemptSchema),
});

/** One list per noun, in order of creation, as `State` has one map per noun. */
export const stateSchema = z.strictObject({
  users: z.array(user),
  memberships: z.array(membership),
  workspaces: z.array(workspace),
  apiKeys: z.array(apiKey),
  partnerKeys: z.array(partnerKey),
  endedTokens: z.array(endedToken),
  endpoints: z.array(endpoint),
  connections: z.array(connection),
  jobs: z.array(job),
  jobWorks: z.array(jobWork),
  artifacts: z.array(artifact),
  clients: z.array(client),
  tasks: z.array(task),
  progress: z.array(progress),
  taskPlans: z.array(taskTypePlan),
  documents: z.array(document),
  catalogAdditions: z.array(catalogAddition),
  uploads: z.array(upload),
  /** Bytes of the upload with the same position, in base64. */
  uploadContents: z.array(z.base64()),
  events: z.array(event),
  deliveries: z.array(delivery),
});

export type StateLists = z.infer<typeof stateSchema>;

export type Role = z.infer<typeof roleSchema>;
export type KeyAccess = z.infer<typeof keyAccessSchema>;
export type TaskStatus = z.infer<typeof taskStatusSchema>;
export type AttemptKind = AttemptRecord["kind"];

export type UserRecord = z.infer<typeof user>;
export type MembershipRecord = z.infer<typeof membership>;
export type WorkspaceRecord = z.infer<typeof workspace>;
export type ApiKeyRecord = z.infer<typeof apiKey>;
export type PartnerKeyRecord = z.infer<typeof partnerKey>;
export type EndedTokenRecord = z.infer<typeof endedToken>;
export type SigningSecretRecord = z.infer<typeof signingSecret>;
export type WebhookEndpointRecord = z.infer<typeof endpoint>;
export type ConnectionRecord = z.infer<typeof connection>;
export type JobRecord = z.infer<typeof job>;
export type JobWorkRecord = z.infer<typeof jobWork>;
export type ArtifactRecord = z.infer<typeof artifact>;
export type ClientRecord = z.infer<typeof client>;
export type StageRecord = z.infer<typeof stage>;
export type TaskRecord = z.infer<typeof task>;
export type ProgressRecord = z.infer<typeof progress>;
export type TaskPlanRecord = z.infer<typeof taskTypePlan>;
export type DocumentRecord = z.infer<typeof document>;
export type CatalogAdditionRecord = z.infer<typeof catalogAddition>;
export type UploadRecord = z.infer<typeof upload>;
/** The bytes of an upload, in blocks: a list of chunks of one byte would take hundreds of times as much memory. */
export type UploadBlocks = ByteBuffer[];
export type EventRecord = z.infer<typeof event>;
export type AttemptRecord = z.infer<typeof attemptSchema>;
export type DeliveryRecord = z.infer<typeof delivery>;

/** A `ProgressRecord` in the timer queue: instead of the time of day, it has the instant when its stage ends. */
export type Progress = Omit<Readonly<ProgressRecord>, "dueAtMs"> & TimerQueueEntry;

export const journalEntrySchema = z.strictObject({
  /** 1 for the first request of a world. */
  sequence: z.int(),
  atMs: z.number(),
  router: routerNames,
  operationName: z.string().nullable(),
  operations: z.array(z.string()).describe("Top-level fields; empty when the document was not valid."),
  /** The document, cut to `journalTextCharsMax`; `null` without one. */
  query: z.string().nullable(),
  /** `null` without variables, and when they were longer than `journalTextCharsMax`. */
  variables: z.unknown().describe("Keys and tokens are redacted."),
  caller: z.enum(["anonymous", "user", "member", "partner"]),
  keyId: z.string().nullable(),
  userId: z.string().nullable(),
  workspaceId: z.string().nullable(),
  /** The `source-platform` header. @see interface §4 */
  sourcePlatform: z.string().nullable(),
  status: z.int().nullable().describe("HTTP status; `null` when the connection was cut instead."),
  errors: z.array(
    z.strictObject({ message: z.string(), code: z.string().nullable(), path: z.string().nullable() }),
  ),
  rejection: z.string().nullable().describe("Why it was rejected, in more detail than the caller gets."),
  /** Kinds of the faults injected into it. */
  faults: z.array(z.string()),
  overridden: z
    .array(z.string())
    .exactOptional()
    .describe("Operations that an override responded to; absent without any."),
  durationMs: z.number(),
});

/** One GraphQL request and its response. Secrets are redacted before they get here. */
export type JournalEntry = Immutable<z.infer<typeof journalEntrySchema>>;
