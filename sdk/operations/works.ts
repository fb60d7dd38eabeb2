import * as s from "@workspace-tasks/kernel/schema.ts";
import { defineOperation } from "../call/operation.ts";
import type { Call, Send } from "../engine/call.ts";
import type { CreateJobWorkArtifactsInput as ArtifactInput } from "../generated/operations.ts";
import type { JobArtifact } from "../generated/schema-types.ts";
import type { CallOptions } from "../options.ts";

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
