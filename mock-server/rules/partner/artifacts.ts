import { isHttpUrl } from "../../checks/service-url.ts";
import type { MutationCreateJobWorkArtifactsArgs } from "../../generated/resolvers.ts";
import type { ArtifactRecord } from "../../state/records.ts";
import type { World } from "../../world/world.ts";
import { isBlank } from "../blank.ts";
import { type Caller, requireWriter } from "../identity/caller.ts";
import { checkListLength } from "../list-bounds.ts";
import { badInput, conflict } from "../service-error.ts";
import { createdNow } from "../touch.ts";
import { findJobWork } from "./works.ts";

/** Attaches files to a work whose import has not been started. Not part of the interface. */
export function createArtifacts(
  world: World,
  caller: Caller,
  input: MutationCreateJobWorkArtifactsArgs,
): ArtifactRecord[] {
  const writer = requireWriter(caller);
  checkListLength(world, "inputs", input.inputs);
  if (input.inputs.length === 0) throw badInput("At least one artifact is required");
  for (const { name, externalId, url } of input.inputs) checkArtifact(name, externalId, url);
  const work = findJobWork(world, writer, input.jobWorkId);
  if (world.state.jobs.get(work.jobId)?.status !== "pending") {
    throw conflict("Connection job does not accept artifacts");
  }

  return input.inputs.map(({ name, type, url, externalId, metadata }) => {
    const artifact: ArtifactRecord = {
      id: world.newId("job-artifact"),
      artifactId: world.newId("artifact"),
      workspaceId: work.workspaceId,
      jobId: work.jobId,
      jobWorkId: work.id,
      externalId,
      name,
      type,
      status: "pending",
      url: url ?? null,
      metadata: metadata ?? null,
      ...createdNow(world),
    };
    world.state.artifacts.set(artifact.id, artifact);
    world.emit({ type: "artifact.created", artifactId: artifact.id, jobWorkId: work.id });
    return artifact;
  });
}

function checkArtifact(name: string, externalId: string, url: string | null | undefined): void {
  if (isBlank(name)) throw badInput("Artifact name must not be empty");
  if (isBlank(externalId)) throw badInput("Artifact externalId must not be empty");
  if (url != null && !isHttpUrl(url)) throw badInput("Artifact url must be an HTTP or HTTPS URL");
}
