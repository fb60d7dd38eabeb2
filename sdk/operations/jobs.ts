import { defineOperation } from "../call/operation.ts";
import { type Call, startCall } from "../engine/call.ts";
import type { Engine } from "../engine/engine.ts";
import type {
  ConnectionJobFieldsFragment,
  CreateConnectionJobMutationVariables,
  CreateJobWorksInput,
  CreateJobWorksMutation,
} from "../generated/operations.ts";
import {
  CreateConnectionJobDocument,
  CreateJobWorksDocument,
  InitiateTaxPrepsImportDocument,
} from "../generated/operations.ts";
import type * as schema from "../generated/schema-types.ts";
import type { OpenUnion } from "../open-union.ts";
import type { CallOptions } from "../options.ts";
import { checkInput, identifier, nonBlank } from "../validation/check-input.ts";
import { atLeast, filledList, only, text } from "../validation/schema.ts";
import type { PickSelected } from "./selected.ts";

/** `pending`, `active`, `completed`, or another: the full list is not shown. @see interface §3 */
export type ConnectionJobStatus = OpenUnion<"pending" | "active" | "completed">;
/** A batch of works on one connection, imported together. @see interface §2 */
export type ConnectionJob = PickSelected<
  schema.ConnectionJob,
  ConnectionJobFieldsFragment,
  { readonly status: ConnectionJobStatus }
>;
export type CreateJobInput = CreateConnectionJobMutationVariables;
export type JobWorkInput = CreateJobWorksInput;
/** One client's tax preparation in a job. @see interface §2 */
export type JobWork = PickSelected<schema.JobWork, CreateJobWorksMutation["createJobWorks"][number]>;

export interface Jobs {
  /**
   * Creates a `pending` job on a connection that is `active`.
   *
   * Errors: `NOT_FOUND` for an unknown connection, `CONFLICT` for one that is not active, `PERMISSION_DENIED`. Not
   * idempotent: a job that is left without works does no harm.
   *
   * @see interface §4
   */
  create(input: CreateJobInput, call?: CallOptions): Call<ConnectionJob>;

  /**
   * Attaches works, one per client tax preparation, to a job that still accepts them: all or none.
   *
   * `externalId` is the calling platform's client identifier, unique per connection. Errors: `NOT_FOUND`, `CONFLICT`
   * for a repeated `externalId` or a job past `pending`, `PERMISSION_DENIED`. The uniqueness makes a repetition safe:
   * after an error with outcome `unknown` send the same works again, and `CONFLICT` says that they are there.
   *
   * @see interface §4
   */
  addWorks(jobId: string, works: readonly JobWorkInput[], call?: CallOptions): Call<readonly JobWork[]>;

  /**
   * Starts the import of a job: clients, documents and `TAX_PREP` tasks follow, told by webhooks.
   *
   * Errors: `NOT_FOUND`, `CONFLICT` for a job without works or already started, `PERMISSION_DENIED`. Safe to repeat:
   * a job starts once. Beyond the interface, which names the operation without its shape (assumed).
   *
   * @see interface §4
   */
  startImport(jobId: string, call?: CallOptions): Call<ConnectionJob>;
}

const createConnectionJobOperation = defineOperation("CreateConnectionJob", CreateConnectionJobDocument);
const createJobWorksOperation = defineOperation("CreateJobWorks", CreateJobWorksDocument);
const initiateTaxPrepsImportOperation = defineOperation(
  "InitiateTaxPrepsImport",
  InitiateTaxPrepsImportDocument,
);

const createJobInput = only({ connectionId: identifier, jobName: nonBlank });

const jobWorksInput = filledList(atLeast({ name: text, externalId: identifier }));

export function createJobs(engine: Engine): Jobs {
  return {
    create: (input, call) =>
      startCall(
        engine,
        {
          operation: createConnectionJobOperation,
          variables: () => checkInput("partner.jobs.create", createJobInput, input),
          result: (data) => data.createConnectionJob,
        },
        call,
      ),

    addWorks: (jobId, works, call) =>
      startCall(
        engine,
        {
          operation: createJobWorksOperation,
          variables: () => ({
            connectionJobId: checkInput("partner.jobs.addWorks", identifier, jobId),
            inputs: checkInput("partner.jobs.addWorks", jobWorksInput, works),
          }),
          result: (data) => data.createJobWorks,
        },
        call,
      ),

    startImport: (jobId, call) =>
      startCall(
        engine,
        {
          operation: initiateTaxPrepsImportOperation,
          variables: () => ({
            connectionJobId: checkInput("partner.jobs.startImport", identifier, jobId),
          }),
          result: (data) => data.initiateTaxPrepsImport,
        },
        call,
      ),
  };
}
