import * as s from "@workspace-tasks/kernel/schema.ts";
import { defineOperation } from "../call/operation.ts";
import type { Call, Send } from "../engine/engine.ts";
import type * as generated from "../generated/operations.ts";
import type { CreateJobWorkArtifactsInput as ArtifactInput } from "../generated/operations.ts";
import type * as schema from "../generated/schema-types.ts";
import type { JobArtifact } from "../generated/schema-types.ts";
import type { CallOptions } from "../options.ts";
import type { OpenUnion, PickSelected } from "./workspaces.ts";

export type CreateJobInput = generated.CreateConnectionJobMutationVariables;
export type JobWorkInput = generated.CreateJobWorksInput;

/** `pending`, `active`, `completed`, or another: the full list is not shown. @see interface §3 */
export type ConnectionJobStatus = OpenUnion<"pending" | "active" | "completed">;
/** A batch of works on one connection, imported together. @see interface §2 */
export interface ConnectionJob
  extends PickSelected<
    schema.ConnectionJob,
    generated.ConnectionJobFieldsFragment,
    { readonly status: ConnectionJobStatus }
  > {}
/** One client's tax preparation in a job. @see interface §2 */
export interface JobWork
  extends PickSelected<schema.JobWork, generated.CreateJobWorksMutation["createJobWorks"][number]> {}

/** Batches of works that are imported together. @see interface §4 */
export interface Jobs {
  /**
   * Creates a `pending` job on a connection that is `active`.
   *
   * Errors: `NOT_FOUND` for an unknown connection, `CONFLICT` for one that is not active, `PERMISSION_DENIED`. Not
   * idempotent: a job without works has no effect.
   */
  create(input: CreateJobInput, call?: CallOptions): Call<ConnectionJob>;

  /**
   * Attaches works, one per client tax preparation, to a job that still accepts them: all or none.
   *
   * `externalId` is the calling platform's client identifier, unique per connection. Errors: `NOT_FOUND`, `CONFLICT`
   * for an `externalId` used before or a job past `pending`, `PERMISSION_DENIED`. The uniqueness makes it safe to
   * repeat: after an error with outcome `unknown` send the same works again; `CONFLICT` means that they exist. Their ids,
   * which `works.attachArtifacts` needs, are then lost, because no operation lists the works of a job: create another
   * job and add the works with other external ids, and leave the first job `pending`, where it has no effect.
   * `imports.start` does all of this.
   */
  addWorks(jobId: string, works: readonly JobWorkInput[], call?: CallOptions): Call<readonly JobWork[]>;

  /**
   * Starts the import of a job: clients, documents and `TAX_PREP` tasks follow, reported by webhooks.
   *
   * Errors: `NOT_FOUND`, `CONFLICT` for a job without works or already started, `PERMISSION_DENIED`. Idempotent:
   * a job starts once, and `CONFLICT` with outcome `unknown` means that it has started. Beyond the interface, which names the operation without its shape (assumed).
   */
  startImport(jobId: string, call?: CallOptions): Call<ConnectionJob>;
}

const createJob = defineOperation("CreateConnectionJob", "partner.jobs.create");
const addWorks = defineOperation("CreateJobWorks", "partner.jobs.addWorks");
const startImport = defineOperation("InitiateTaxPrepsImport", "partner.jobs.startImport", {
  idempotent: true,
});

const createInput = s.strictObject({ connectionId: s.nonEmptyString, jobName: s.nonBlankString });
// Fields that the interface does not show are passed on.
const worksInput = s.nonEmptyArray(s.looseObject({ name: s.string, externalId: s.nonEmptyString }));

export function createJobs(send: Send): Jobs {
  return {
    create: (input, call) => send(createJob, (check) => check(createInput, input), call),

    addWorks: (jobId, works, call) =>
      send(
        addWorks,
        (check) => ({ connectionJobId: check(s.nonEmptyString, jobId), inputs: check(worksInput, works) }),
        call,
      ),

    startImport: (jobId, call) =>
      send(startImport, (check) => ({ connectionJobId: check(s.nonEmptyString, jobId) }), call),
  };
}

export type { ArtifactInput, JobArtifact };

/** The works of a job. @see interface §4 */
export interface Works {
  /**
   * Attaches files to a job work, by the URL from which the service fetches them during the import.
   *
   * `type` is free text, for example `w2`, `1099`, `receipt`. Errors: `NOT_FOUND`, `CONFLICT`, `PERMISSION_DENIED`.
   * Not idempotent: after an error with outcome `unknown` a second call may attach the files twice; `imports.start` uses
   * another job then. Beyond the interface, which names the operation without its shape (documented).
   */
  attachArtifacts(
    jobWorkId: string,
    artifacts: readonly ArtifactInput[],
    call?: CallOptions,
  ): Call<readonly JobArtifact[]>;
}

const attachArtifacts = defineOperation("CreateJobWorkArtifacts", "partner.works.attachArtifacts");

export const artifactFields = {
  name: s.string,
  type: s.string,
  externalId: s.nonEmptyString,
  url: s.nullish(s.string),
  metadata: s.anything,
};
// Fields that the interface does not show are passed on.
const artifactsInput = s.nonEmptyArray(s.looseObject(artifactFields));

export function createWorks(send: Send): Works {
  return {
    attachArtifacts: (jobWorkId, artifacts, call) =>
      send(
        attachArtifacts,
        (check) => ({
          jobWorkId: check(s.nonEmptyString, jobWorkId),
          inputs: check(artifactsInput, artifacts),
        }),
        call,
      ),
  };
}

export interface StartConnectionInput
  extends Omit<generated.StartProviderConnectionMutationVariables, "inputs"> {
  /** The credentials of the partner's platform; `{}` for a platform that needs none. */
  readonly inputs: Readonly<Record<string, unknown>>;
}
export interface CollectConnectionInput
  extends Omit<generated.CollectProviderConnectionMutationVariables, "connectionId"> {}

/** `pending`, then `active`; otherwise an error state such as `failed` or `disconnected`. An open set. @see interface §3 */
export type ProviderConnectionStatus = OpenUnion<"pending" | "active" | "failed" | "disconnected">;
/** A link between a workspace and a partner's platform. @see interface §2 */
export interface ProviderConnection
  extends PickSelected<
    schema.ProviderConnection,
    generated.ProviderConnectionFieldsFragment,
    { readonly status: ProviderConnectionStatus }
  > {}

/** Links between a workspace and a partner's platform. @see interface §4 */
export interface Connections {
  /**
   * Starts a connection with the credentials of the partner's platform; it is `pending` until it is collected.
   *
   * `inputs` usually holds `apiKey`, `securityToken` and `baseUrl`. Errors: `NOT_FOUND` for an unknown workspace,
   * `PERMISSION_DENIED`. Not idempotent. Beyond the interface, which names the operation without its shape (documented).
   */
  start(input: StartConnectionInput, call?: CallOptions): Call<ProviderConnection>;

  /**
   * Makes the service test the credentials of the start step against the partner's platform.
   *
   * The result is in `status`, and is not an error: `active`, or an error state. `inputs` is stored and returned as
   * `settings`. Errors: `NOT_FOUND`, `PERMISSION_DENIED`. Idempotent, except that the platform is contacted again.
   */
  collect(connectionId: string, input?: CollectConnectionInput, call?: CallOptions): Call<ProviderConnection>;
}

const startConnection = defineOperation("StartProviderConnection", "partner.connections.start");
const collectConnection = defineOperation("CollectProviderConnection", "partner.connections.collect", {
  idempotent: true,
});

const startInput = s.strictObject({
  workspaceId: s.nonEmptyString,
  providerKey: s.nonEmptyString,
  inputs: s.plainObject,
});
const collectInput = s.strictObject({ connectionId: s.nonEmptyString, inputs: s.anything });

export function createConnections(send: Send): Connections {
  return {
    start: (input, call) => send(startConnection, (check) => check(startInput, input), call),

    collect: (connectionId, input, call) =>
      send(collectConnection, (check) => check(collectInput, { ...input, connectionId }), call),
  };
}
