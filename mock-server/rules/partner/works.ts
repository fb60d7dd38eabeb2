import type { MutationCreateJobWorksArgs } from "../../generated/resolvers.ts";
import type { JobWorkRecord } from "../../state/records.ts";
import type { World } from "../../world/world.ts";
import { isBlank } from "../blank.ts";
import { type Caller, reachable, requireWriter } from "../identity/caller.ts";
import { checkListLength } from "../list-bounds.ts";
import { worksByExternalId } from "../record-groups.ts";
import { badInput, conflict } from "../service-error.ts";
import { createdNow } from "../touch.ts";
import { findJob } from "./jobs.ts";

/** All or nothing: with one invalid input no work is created. @see interface §4 */
export function createJobWorks(
  world: World,
  caller: Caller,
  input: MutationCreateJobWorksArgs,
): JobWorkRecord[] {
  const writer = requireWriter(caller);
  checkListLength(world, "inputs", input.inputs);
  if (input.inputs.length === 0) throw badInput("At least one work is required");
  for (const { name, externalId } of input.inputs) checkWork(name, externalId);
  const job = findJob(world, writer, input.connectionJobId);
  if (job.status !== "pending") throw conflict("Connection job does not accept works");
  const isTaken = (externalId: string) =>
    worksByExternalId(world, `${job.connectionId}/${externalId}`).length > 0;
  rejectRepeats(input.inputs, isTaken);

  return input.inputs.map(({ name, externalId }) => {
    const work: JobWorkRecord = {
      id: world.newId("job-work"),
      workId: world.newId("work"),
      workspaceId: job.workspaceId,
      connectionId: job.connectionId,
      jobId: job.id,
      name,
      externalId,
      ...createdNow(world),
    };
    world.state.jobWorks.set(work.id, work);
    world.emit({ type: "job-work.created", jobWorkId: work.id, jobId: job.id });
    return work;
  });
}

export const findJobWork = (world: World, caller: Caller, jobWorkId: string): JobWorkRecord =>
  reachable(world, caller, world.state.jobWorks.get(jobWorkId), "Job work not found");

function checkWork(name: string, externalId: string): void {
  if (isBlank(name)) throw badInput("Work name must not be empty");
  if (isBlank(externalId)) throw badInput("Work externalId must not be empty");
}

function rejectRepeats(
  inputs: MutationCreateJobWorksArgs["inputs"],
  isTaken: (externalId: string) => boolean,
): void {
  const given = new Set<string>();
  for (const { externalId } of inputs) {
    if (given.has(externalId) || isTaken(externalId)) {
      throw conflict(`externalId "${externalId}" is already used in this connection`);
    }
    given.add(externalId);
  }
}
