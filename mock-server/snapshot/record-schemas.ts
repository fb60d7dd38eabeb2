import { z } from "zod";
import { customerErrorSchema, taxPrepResultSchema } from "../../sdk/events/index.ts";
import { deliveryFaultSchema } from "../faults/fault-schema.ts";
import type * as records from "../state/records.ts";
import type { TaskPlan } from "../state/task-plan.ts";

// What a snapshot must hold for each noun. A file that was cut off, edited badly or made by something else
// fails here and changes nothing.

const id = z.string().min(1);
const atMs = z.number();
const role = z.enum(["admin", "l1", "l2", "l3"]);
const taskStatus = z.enum(["RUNNING", "COMPLETED", "FAILED"]);
const texts = z.record(z.string(), z.string());

const user: z.ZodType<records.UserRecord> = z.strictObject({ id, name: z.string(), email: z.string() });

const membership: z.ZodType<records.MembershipRecord> = z.strictObject({
  id,
  userId: id,
  workspaceId: id,
  role,
  createdAtMs: atMs,
});

const workspace: z.ZodType<records.WorkspaceRecord> = z.strictObject({
  id,
  name: z.string(),
  slug: z.string(),
  displayName: z.string(),
  status: z.string(),
  workspaceType: z.string().nullable(),
  firmSize: z.string().nullable(),
  metadata: z.unknown(),
  createdAtMs: atMs,
  partnerId: id.nullable(),
});

const apiKey: z.ZodType<records.ApiKeyRecord> = z.strictObject({
  id,
  keyHash: z.string(),
  userId: id,
  workspaceId: id,
  access: z.enum(["read_only", "read_write"]),
  createdAtMs: atMs,
  expiresAtMs: atMs,
  revokedAtMs: atMs.nullable(),
});

const partnerKey: z.ZodType<records.PartnerKeyRecord> = z.strictObject({
  id,
  keyHash: z.string(),
  partnerId: id,
  createdAtMs: atMs,
  revokedAtMs: atMs.nullable(),
});

const endedToken: z.ZodType<records.EndedTokenRecord> = z.strictObject({ id, endedAtMs: atMs });

const endpoint: z.ZodType<records.WebhookEndpointRecord> = z.strictObject({
  id,
  workspaceId: id,
  url: z.string(),
  description: z.string(),
  enabled: z.boolean(),
  eventTypes: z.array(z.string()).nullable(),
  secrets: z
    .array(z.strictObject({ secret: z.string().startsWith("whsec_"), expiresAtMs: atMs.nullable() }))
    .min(1),
  createdAtMs: atMs,
  updatedAtMs: atMs,
});

const connection: z.ZodType<records.ConnectionRecord> = z.strictObject({
  id,
  workspaceId: id,
  providerKey: z.string(),
  status: z.enum(["pending", "active", "failed", "disconnected"]),
  displayName: z.string().nullable(),
  startInputs: z.unknown(),
  settings: z.unknown(),
  createdAtMs: atMs,
  updatedAtMs: atMs,
});

const job: z.ZodType<records.JobRecord> = z.strictObject({
  id,
  workspaceId: id,
  connectionId: id,
  name: z.string(),
  status: z.enum(["pending", "active", "completed"]),
  createdAtMs: atMs,
  updatedAtMs: atMs,
});

const jobWork: z.ZodType<records.JobWorkRecord> = z.strictObject({
  id,
  workId: id,
  workspaceId: id,
  connectionId: id,
  jobId: id,
  name: z.string(),
  externalId: z.string(),
  taskId: id.exactOptional(),
  createdAtMs: atMs,
  updatedAtMs: atMs,
});

const artifact: z.ZodType<records.ArtifactRecord> = z.strictObject({
  id,
  artifactId: id,
  workspaceId: id,
  jobId: id,
  jobWorkId: id,
  externalId: z.string(),
  name: z.string(),
  type: z.string(),
  status: z.string(),
  url: z.string().nullable(),
  metadata: z.unknown(),
  createdAtMs: atMs,
  updatedAtMs: atMs,
});

const client: z.ZodType<records.ClientRecord> = z.strictObject({
  id,
  workspaceId: id,
  name: z.string(),
  externalId: z.string(),
  status: z.string(),
  returnType: z.string(),
  taxYear: z.int(),
  createdAtMs: atMs,
});

const stage: z.ZodType<records.StageRecord> = z.strictObject({
  id,
  type: z.string(),
  status: taskStatus,
  startedAtMs: atMs,
  completedAtMs: atMs.nullable(),
  errorMessage: z.string().nullable(),
});

const task: z.ZodType<records.TaskRecord> = z.strictObject({
  id,
  workspaceId: id,
  clientId: id,
  type: z.string(),
  status: taskStatus,
  startedAtMs: atMs,
  completedAtMs: atMs.nullable(),
  errorMessage: z.string().nullable(),
  attributes: z.array(z.strictObject({ name: z.string(), value: z.string() })),
  stages: z.array(stage),
  result: taxPrepResultSchema.nullable(),
  customerError: customerErrorSchema.nullable(),
  triggeredByUserId: id.nullable(),
  changes: z.int(),
  changedAtMs: atMs,
});

const stagePlan = z.strictObject({
  type: z.string(),
  durationMs: z.number().nonnegative(),
  status: z.enum(["COMPLETED", "FAILED"]).optional(),
  errorMessage: z.string().optional(),
});

const taskPlan: z.ZodType<TaskPlan> = z.strictObject({
  mode: z.enum(["immediate", "timed", "manual"]),
  stages: z.array(stagePlan),
  outcome: z
    .strictObject({
      status: z.enum(["COMPLETED", "FAILED"]),
      errorMessage: z.string().optional(),
      customerError: customerErrorSchema.nullable().optional(),
      taxPrepResult: taxPrepResultSchema.optional(),
    })
    .optional(),
});

const plannedType: z.ZodType<records.TaskPlanRecord> = z.strictObject({ taskType: id, plan: taskPlan });

const progress: z.ZodType<records.ProgressRecord> = z.strictObject({
  taskId: id,
  plan: taskPlan.nullable(),
  stage: z.int(),
  dueAtMs: atMs,
});

const document: z.ZodType<records.DocumentRecord> = z.strictObject({
  id,
  workspaceId: id,
  clientId: id,
  fileName: z.string(),
  mimeType: z.string(),
  connectionId: id.nullable(),
  externalId: z.string(),
  createdAtMs: atMs,
});

const catalogAddition: z.ZodType<records.CatalogAdditionRecord> = z.strictObject({
  name: id,
  description: z.string(),
  version: z.string(),
  status: z.string(),
  taskTypes: z.array(z.string()),
  payloadSchema: z.record(z.string(), z.unknown()),
});

const upload: z.ZodType<records.UploadRecord> = z.strictObject({
  id,
  workspaceId: id,
  lengthBytes: z.int().nullable(),
  offsetBytes: z.int(),
  fileName: z.string(),
  fileType: z.string(),
  metadata: texts,
  createdAtMs: atMs,
  completedAtMs: atMs.nullable(),
});

const event: z.ZodType<records.EventRecord> = z.strictObject({
  id,
  workspaceId: id,
  name: z.string(),
  occurredAtMs: atMs,
  subject: z.string(),
  body: z.string(),
});

const attempt: z.ZodType<records.AttemptRecord> = z.strictObject({
  number: z.int(),
  kind: z.enum(["scheduled", "duplicate", "replay"]),
  startedAtMs: atMs,
  durationMs: z.number(),
  status: z.int().nullable(),
  error: z.string().nullable(),
  requestHeaders: texts,
  requestBody: z.string(),
  responseHeaders: texts,
  responseBody: z.string(),
  faults: z.array(z.string()),
});

const delivery: z.ZodType<records.DeliveryRecord> = z.strictObject({
  id,
  eventId: id,
  eventName: z.string(),
  workspaceId: id,
  endpointId: id,
  status: z.enum(["pending", "paused", "succeeded", "failed", "cancelled"]),
  createdAtMs: atMs,
  nextAttemptAtMs: atMs.nullable(),
  drawnFaults: z.array(deliveryFaultSchema).exactOptional(),
  attempts: z.array(attempt),
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
  taskPlans: z.array(plannedType),
  documents: z.array(document),
  catalogAdditions: z.array(catalogAddition),
  uploads: z.array(upload),
  /** Bytes of the upload with the same position, in base64. */
  uploadContents: z.array(z.base64()),
  events: z.array(event),
  deliveries: z.array(delivery),
});
