import { defineOperation } from "../call/operation.ts";
import { type Call, startCall } from "../engine/call.ts";
import type { Engine } from "../engine/engine.ts";
import type { CreateJobWorkArtifactsInput } from "../generated/operations.ts";
import { CreateJobWorkArtifactsDocument } from "../generated/operations.ts";
import type * as schema from "../generated/schema-types.ts";
import type { CallOptions } from "../options.ts";
import { checkInput, identifier } from "../validation/check-input.ts";
import { anything, atLeast, filledList, nullish, text } from "../validation/schema.ts";

export type ArtifactInput = CreateJobWorkArtifactsInput;
/** A file attached to a job work. Beyond the interface (documented). */
export type JobArtifact = schema.JobArtifact;

export interface Works {
  /**
   * Attaches files to a job work, by the URL from which the service fetches them at the import.
   *
   * `type` is free text, for example `w2`, `1099`, `receipt`. Errors: `NOT_FOUND`, `CONFLICT`, `PERMISSION_DENIED`.
   * Not idempotent: after an error with outcome `unknown` a second call may attach the files twice. Beyond the
   * interface, which names the operation without its shape (documented).
   *
   * @see interface §4
   */
  attachArtifacts(
    jobWorkId: string,
    artifacts: readonly ArtifactInput[],
    call?: CallOptions,
  ): Call<readonly JobArtifact[]>;
}

const createJobWorkArtifactsOperation = defineOperation(
  "CreateJobWorkArtifacts",
  CreateJobWorkArtifactsDocument,
);

const artifactsInput = filledList(
  atLeast({ name: text, type: text, externalId: identifier, url: nullish(text), metadata: anything }),
);

export function createWorks(engine: Engine): Works {
  return {
    attachArtifacts: (jobWorkId, artifacts, call) =>
      startCall(
        engine,
        {
          operation: createJobWorkArtifactsOperation,
          variables: () => ({
            jobWorkId: checkInput("partner.works.attachArtifacts", identifier, jobWorkId),
            inputs: checkInput("partner.works.attachArtifacts", artifactsInput, artifacts),
          }),
          result: (data) => data.createJobWorkArtifacts,
        },
        call,
      ),
  };
}
