// An endpoint that leads to this machine must not outlive the command. Before it is created, a file says which it will be: its
// description has a mark that only this run has. A run that is killed leaves the file, and the next one removes the endpoint
// with that mark, and no other. A lock on the file says whether its run still runs.

import { mkdir, open, readdir, readFile, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "@workspace-tasks/kernel/clock.ts";
import { lockFile } from "@workspace-tasks/kernel/file-lock.ts";
import { jsonOrUndefined } from "@workspace-tasks/kernel/json.ts";
import { isPlainObject } from "@workspace-tasks/kernel/plain-object.ts";
import { privacyOf } from "@workspace-tasks/kernel/private-file.ts";
import { randomName, systemRandom } from "@workspace-tasks/kernel/random.ts";
import { type CallOptions, isWorkspaceTasksError, type WebhookEndpoints } from "@workspace-tasks/sdk";

/** Whose endpoints they are. */
export interface Owner {
  readonly baseUrl: string;
  readonly workspaceId: string;
}

export interface RecordedRun {
  /** The description of the endpoint. */
  readonly mark: string;
  /** Deletes the record: nothing of the run is left on the service. */
  forget(): Promise<void>;
  /** Lets the next run look for the endpoint. */
  release(): Promise<void>;
}

export interface StateOptions {
  /** Created for its owner alone. */
  readonly folder: string;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** Records that this run will create an endpoint; on disk before it returns. */
export async function recordRun(owner: Owner, { folder, clock }: StateOptions): Promise<RecordedRun> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const name = randomName(systemRandom);
  const path = join(folder, `${name}.json`);
  const mark = `workspace-tasks listen ${name}`;
  const lock = await lockFile(path, { clock });
  if (typeof lock === "string") throw new Error(lock);
  const file = await open(path, "wx", 0o600);
  try {
    await file.writeFile(JSON.stringify({ ...owner, mark, recordedAtMs: clock.now() }));
    await file.sync();
  } finally {
    await file.close();
  }
  return {
    mark,
    async forget() {
      await rm(path, { force: true });
      await lock.release();
    },
    release: () => lock.release(),
  };
}

/** A request of a run that was killed may arrive later than the list of the next run; not later than this. */
const arrivesWithinMs = 600_000;

/**
 * Removes the endpoints of earlier runs that have ended, at the service and workspace of `owner`. Records of others are kept.
 * @param onRemoved called with each endpoint's URL
 */
export async function removeLeft(
  owner: Owner,
  endpoints: WebhookEndpoints,
  options: StateOptions,
  { onRemoved, onWait }: { onRemoved(url: string): void; onWait(process: string): void },
): Promise<void> {
  const { folder, clock, signal } = options;
  const names = await readdir(folder).catch(() => []);
  const records = new Set(names.flatMap((name) => /^(\w+\.json)(?:\.lock.*)?$/.exec(name)?.[1] ?? []));
  for (const name of records) {
    const path = join(folder, name);
    const lock = await lockFile(path, { clock, signal, onWait });
    if (typeof lock === "string") continue;
    try {
      if (await isSettled(path)) await rm(path, { force: true });
    } finally {
      await lock.release();
    }
  }

  /** Whether nothing of this run is, or can still be, on the service. */
  async function isSettled(path: string): Promise<boolean> {
    const found = await stat(path).catch(() => null);
    if (found === null || privacyOf(found) === "foreign") return false;
    const value = jsonOrUndefined(await readFile(path, "utf8"));
    // Cut short, so its run was killed before it created anything.
    if (value === undefined) return true;
    const record = toRecord(value);
    // Of another version, which may know of an endpoint.
    if (record === null) return false;
    if (record.baseUrl !== owner.baseUrl || record.workspaceId !== owner.workspaceId) return false;
    const removed = await removeMarked(record.mark, endpoints, { signal });
    for (const url of removed) onRemoved(url);
    return removed.length > 0 || clock.now() - record.recordedAtMs > arrivesWithinMs;
  }
}

/** Deletes the endpoints with this description. @returns their URLs */
export async function removeMarked(
  mark: string,
  endpoints: WebhookEndpoints,
  call: CallOptions,
): Promise<readonly string[]> {
  const all = await endpoints.list({ limit: 100 }, call).toArray();
  const marked = all.filter(({ description }) => description === mark);
  for (const { id } of marked) {
    await endpoints.delete(id, call).catch((error: unknown) => {
      // Deleted meanwhile, in the web app for example.
      if (!isWorkspaceTasksError(error, "NOT_FOUND")) throw error;
    });
  }
  return marked.map(({ url }) => url);
}

function toRecord(value: unknown): (Owner & { readonly mark: string; readonly recordedAtMs: number }) | null {
  if (!isPlainObject(value)) return null;
  const { baseUrl, workspaceId, mark, recordedAtMs } = value;
  if (typeof baseUrl !== "string" || typeof workspaceId !== "string") return null;
  // No endpoint but one of a run can have this description.
  if (typeof mark !== "string" || !/^workspace-tasks listen \w{8,}$/.test(mark)) return null;
  return { baseUrl, workspaceId, mark, recordedAtMs: Number(recordedAtMs) || 0 };
}
