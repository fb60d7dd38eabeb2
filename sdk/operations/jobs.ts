import * as s from "@workspace-tasks/kernel/schema.ts";
import { defineOperation } from "../call/operation.ts";
import type { Call, Send } from "../engine/call.ts";
import type * as generated from "../generated/operations.ts";
import type * as schema from "../generated/schema-types.ts";
import type { OpenUnion } from "../open-union.ts";
import type { CallOptions } from "../options.ts";
import type { PickSelected } from "./picked-types.ts";

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
