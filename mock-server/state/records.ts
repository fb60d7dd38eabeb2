import type { CustomerError, TaxPrepResult } from "../../sdk/events/index.ts";
import type { TimerQueueEntry } from "../time/timer-queue.ts";
import type { DeliveryFault } from "./fault.ts";
import type { TaskPlan } from "./task-plan.ts";

// What the service remembers. Plain data, times in milliseconds since the epoch, so that a snapshot is
// the state itself. "Stage" is this project's word for what the wire calls `subTask`.

export type Role = "admin" | "l1" | "l2" | "l3";
export type KeyAccess = "read_only" | "read_write";
export type TaskStatus = "RUNNING" | "COMPLETED" | "FAILED";

export type UserRecord = { id: string; name: string; email: string };

export type MembershipRecord = {
  id: string;
  userId: string;
  workspaceId: string;
  role: Role;
  createdAtMs: number;
};

export type WorkspaceRecord = {
  id: string;
  name: string;
  slug: string;
  displayName: string;
  status: string;
  workspaceType: string | null;
  firmSize: string | null;
  metadata: unknown;
  createdAtMs: number;
  /** The partner account that created it, if one did. */
  partnerId: string | null;
};

export type ApiKeyRecord = {
  id: string;
  /** SHA-256 of the key in hex: the key itself is shown once and never kept (K8). */
  keyHash: string;
  userId: string;
  workspaceId: string;
  access: KeyAccess;
  createdAtMs: number;
  expiresAtMs: number;
  revokedAtMs: number | null;
};

export type PartnerKeyRecord = {
  id: string;
  keyHash: string;
  /** The partner's account; workspaces it creates carry this id. */
  partnerId: string;
  createdAtMs: number;
  revokedAtMs: number | null;
};

/** An access token that a fault has ended before its time. */
export type EndedTokenRecord = {
  /** The token's `jti`. */
  id: string;
  endedAtMs: number;
};

export type SigningSecretRecord = {
  /** `whsec_` followed by base64. */
  secret: string;
  /** `null` for the current secret; otherwise the end of its grace period. */
  expiresAtMs: number | null;
};

export type WebhookEndpointRecord = {
  id: string;
  workspaceId: string;
  url: string;
  description: string;
  enabled: boolean;
  /** `null`: all current and future events. */
  eventTypes: string[] | null;
  /** Newest first. */
  secrets: SigningSecretRecord[];
  createdAtMs: number;
  updatedAtMs: number;
};

export type ConnectionStatus = "pending" | "active" | "failed" | "disconnected";

export type ConnectionRecord = {
  id: string;
  workspaceId: string;
  providerKey: string;
  status: ConnectionStatus;
  displayName: string | null;
  /** The credentials of the start step; never read back. */
  startInputs: unknown;
  /** What `collectProviderConnection` stored, echoed as `settings`. */
  settings: unknown;
  createdAtMs: number;
  updatedAtMs: number;
};

export type JobStatus = "pending" | "active" | "completed";

export type JobRecord = {
  id: string;
  workspaceId: string;
  connectionId: string;
  name: string;
  status: JobStatus;
  createdAtMs: number;
  updatedAtMs: number;
};

/** A work and its link to the job, created together. */
export type JobWorkRecord = {
  id: string;
  workId: string;
  workspaceId: string;
  connectionId: string;
  jobId: string;
  name: string;
  externalId: string;
  /** The `TAX_PREP` task its import has started. */
  taskId?: string;
  createdAtMs: number;
  updatedAtMs: number;
};

export type ArtifactRecord = {
  id: string;
  artifactId: string;
  workspaceId: string;
  jobId: string;
  jobWorkId: string;
  externalId: string;
  name: string;
  type: string;
  status: string;
  url: string | null;
  metadata: unknown;
  createdAtMs: number;
  updatedAtMs: number;
};

export type ClientRecord = {
  id: string;
  workspaceId: string;
  name: string;
  externalId: string;
  status: string;
  returnType: string;
  taxYear: number;
  createdAtMs: number;
};

export type StageRecord = {
  id: string;
  type: string;
  status: TaskStatus;
  startedAtMs: number;
  completedAtMs: number | null;
  errorMessage: string | null;
};

export type TaskRecord = {
  id: string;
  workspaceId: string;
  clientId: string;
  type: string;
  status: TaskStatus;
  startedAtMs: number;
  completedAtMs: number | null;
  errorMessage: string | null;
  attributes: { name: string; value: string }[];
  stages: StageRecord[];
  result: TaxPrepResult | null;
  customerError: CustomerError | null;
  triggeredByUserId: string | null;
  /** How often the task has entered a status; makes each change's event id unique and repeatable. */
  changes: number;
  /** When it entered its present status; no two changes of one task share a time. */
  changedAtMs: number;
};

/** The position of a task in its plan, as a snapshot stores it. */
export type ProgressRecord = {
  taskId: string;
  /** `null`: the plan that the settings have for the task's type. A task keeps the plan it started with. */
  plan: TaskPlan | null;
  /** Index of the current stage. */
  stage: number;
  dueAtMs: number;
};

/** A `ProgressRecord` in the timer queue: instead of the time of day, it has the instant when its stage ends. */
export type Progress = Omit<Readonly<ProgressRecord>, "dueAtMs"> & TimerQueueEntry;

/** How tasks of a type move on from now on, in place of what the settings say. */
export type TaskPlanRecord = { taskType: string; plan: TaskPlan };

/** A document held for a client, pulled from a connected system or added by hand. */
export type DocumentRecord = {
  id: string;
  workspaceId: string;
  clientId: string;
  fileName: string;
  mimeType: string;
  /** `null` for a document added by hand. */
  connectionId: string | null;
  /** Its id in the connected system, or the upload's id. */
  externalId: string;
  createdAtMs: number;
};

/** An event that joined the catalog at run time. */
export type CatalogAdditionRecord = {
  name: string;
  description: string;
  version: string;
  status: string;
  taskTypes: string[];
  payloadSchema: Record<string, unknown>;
};

export type UploadRecord = {
  id: string;
  workspaceId: string;
  /** `null` until a deferred length is told. */
  lengthBytes: number | null;
  offsetBytes: number;
  fileName: string;
  fileType: string;
  metadata: Record<string, string>;
  createdAtMs: number;
  completedAtMs: number | null;
};

/** Something that happened, as every endpoint that subscribes to it will be told. */
export type EventRecord = {
  id: string;
  workspaceId: string;
  name: string;
  occurredAtMs: number;
  /** What it is about (a task, a connection); first attempts about one subject leave in order. */
  subject: string;
  /** The exact text that is signed and sent. */
  body: string;
};

export type DeliveryStatus = "pending" | "paused" | "succeeded" | "failed" | "cancelled";

/** Only a scheduled attempt uses up the schedule. */
export type AttemptKind = "scheduled" | "duplicate" | "replay";

export type AttemptRecord = {
  number: number;
  kind: AttemptKind;
  startedAtMs: number;
  durationMs: number;
  /** HTTP status, or `null` when none came. */
  status: number | null;
  /** Why no status came, or why a status counts as a failure; `null` on success. */
  error: string | null;
  requestHeaders: Record<string, string>;
  /** The bytes sent, as text; equal to the event's body unless a fault altered them. */
  requestBody: string;
  responseHeaders: Record<string, string>;
  /** First part of the response body. */
  responseBody: string;
  /** Names of the faults that changed this attempt. */
  faults: string[];
};

export type DeliveryRecord = {
  /** Also the `webhook-id`: it stays the same over every retry and replay. */
  id: string;
  eventId: string;
  eventName: string;
  workspaceId: string;
  endpointId: string;
  status: DeliveryStatus;
  createdAtMs: number;
  nextAttemptAtMs: number | null;
  /** Faults already drawn for the coming attempt, which one of them has put off. */
  drawnFaults?: DeliveryFault[];
  attempts: AttemptRecord[];
};
