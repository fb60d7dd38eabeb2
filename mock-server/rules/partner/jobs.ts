// A job is `pending` while works are added, `active` from the start of its import and `completed` when the import
// of every work has ended. No other transition exists.

import type { MutationCreateConnectionJobArgs } from "../../generated/resolvers.ts";
import type { JobSeed } from "../../settings/seed-plan.ts";
import type { ConnectionRecord, JobRecord } from "../../state/records.ts";
import type { World } from "../../world/world.ts";
import { isBlank } from "../blank.ts";
import { type Caller, reachable, requireWriter } from "../identity/caller.ts";
import { worksOfJob } from "../record-groups.ts";
import { badInput, conflict } from "../service-error.ts";
import { createdNow } from "../touch.ts";
import { findConnection } from "./connections.ts";
import { startImport } from "./imports.ts";

/** @see interface §4 */
export function createJob(world: World, caller: Caller, input: MutationCreateConnectionJobArgs): JobRecord {
  const writer = requireWriter(caller);
  if (isBlank(input.jobName)) throw badInput("Job name must not be empty");
  const connection = findConnection(world, writer, input.connectionId);
  if (connection.status !== "active") throw conflict("Provider connection is not active");
  const job = addJob(world, connection, { name: input.jobName });
  world.emit({ type: "job.pending", jobId: job.id, workspaceId: job.workspaceId });
  return job;
}

/** Adds a job without checking the caller. Default: `pending`. */
export function addJob(
  world: World,
  { id: connectionId, workspaceId }: ConnectionRecord,
  { name, status = "pending" }: JobSeed,
): JobRecord {
  const job = { id: world.newId("job"), workspaceId, connectionId, name, status, ...createdNow(world) };
  world.state.jobs.set(job.id, job);
  return job;
}

/** Starts the import of a job that has works. */
export function initiateImport(world: World, caller: Caller, jobId: string): JobRecord {
  const job = findJob(world, requireWriter(caller), jobId);
  if (job.status !== "pending") throw conflict("Connection job import has already been started");
  if (worksOfJob(world, job.id).length === 0) throw conflict("Connection job has no works");
  startImport(world, job);
  return job;
}

export const findJob = (world: World, caller: Caller, jobId: string): JobRecord =>
  reachable(world, caller, world.state.jobs.get(jobId), "Connection job not found");
