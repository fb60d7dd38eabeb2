import type { MutationCreateJobWorksArgs } from "../../generated/resolvers.ts";
import type { JobWorkRecord } from "../../state/records.ts";
import type { World } from "../../world/world.ts";
import { type Caller, reachable, requireWriter } from "../identity/caller.ts";
import { checkListLength } from "../list-bounds.ts";
import { ServiceError } from "../service-error.ts";
import { findJob } from "./jobs.ts";

/** All or nothing: with one invalid input no work is created. @see interface §4 */
export function createJobWorks(
  world: World,
  caller: Caller,
  input: MutationCreateJobWorksArgs,
): JobWorkRecord[] {
  const job = findJob(world, requireWriter(caller), input.connectionJobId);
  if (job.status !== "pending") {
    throw new ServiceError("CONFLICT", "Connection job does not accept works");
  }
  checkListLength(world, "inputs", input.inputs);
  if (input.inputs.length === 0) throw new ServiceError("BAD_USER_INPUT", "At least one work is required");
  checkWorks(input.inputs, externalIdsInUse(world, job.connectionId));

  const nowMs = world.clock.now();
  return input.inputs.map(({ name, externalId }) => {
    const work: JobWorkRecord = {
      id: world.newId("job-work"),
      workId: world.newId("work"),
      workspaceId: job.workspaceId,
      connectionId: job.connectionId,
      jobId: job.id,
      name,
      externalId,
      createdAtMs: nowMs,
      updatedAtMs: nowMs,
    };
    world.state.jobWorks.set(work.id, work);
    world.emit({ type: "job-work.created", jobWorkId: work.id, jobId: job.id });
    return work;
  });
}

export const findJobWork = (world: World, caller: Caller, jobWorkId: string): JobWorkRecord =>
  reachable(world, caller, world.state.jobWorks.get(jobWorkId), "Job work not found");

function checkWorks(inputs: MutationCreateJobWorksArgs["inputs"], taken: Set<string>): void {
  for (const { name, externalId } of inputs) {
    if (name.trim() === "") throw new ServiceError("BAD_USER_INPUT", "Work name must not be empty");
    if (externalId.trim() === "")
      throw new ServiceError("BAD_USER_INPUT", "Work externalId must not be empty");
    if (taken.has(externalId)) {
      throw new ServiceError("CONFLICT", `externalId "${externalId}" is already used in this connection`);
    }
    taken.add(externalId);
  }
}

function externalIdsInUse(world: World, connectionId: string): Set<string> {
  const taken = new Set<string>();
  for (const work of world.state.jobWorks.values()) {
    if (work.connectionId === connectionId) taken.add(work.externalId);
  }
  return taken;
}
