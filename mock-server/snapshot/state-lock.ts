// Two mocks that write one state file would overwrite each other's state without a word. A lock file beside it names
// the process that writes it; the lock of a process that no longer runs on this computer is replaced.

import { open, readFile, rename, rm } from "node:fs/promises";
import { hostname } from "node:os";
import { jsonOrUndefined } from "@workspace-tasks/kernel/json.ts";

interface Owner {
  readonly pid: number;
  readonly host: string;
}

export interface StateLock {
  /** Deletes the lock file. */
  release(): Promise<void>;
}

/** With the process id, makes names and owners unique on this computer. */
let lockCount = 0;

/** @returns the lock, or what the process that has it is called */
export async function lockState(statePath: string): Promise<StateLock | string> {
  const path = `${statePath}.lock`;
  const text = JSON.stringify({ pid: process.pid, host: hostname(), id: ++lockCount });
  // One retry after another mock released or replaced it.
  for (let attempt = 0; attempt < 2; attempt++) {
    if (await createFile(path, text)) return { release: () => removeOwn(path, text) };
    const found = await readFile(path, "utf8").catch(() => null);
    if (found === null) continue;
    const owner = parseOwner(found);
    if (owner === null || isRunning(owner)) return describe(owner, path);
    if (await replaceStale(path, found, text)) return { release: () => removeOwn(path, text) };
  }
  return describe(null, path);
}

/** `false` when there is a file, or a link, of this name. */
async function createFile(path: string, text: string): Promise<boolean> {
  try {
    const file = await open(path, "wx", 0o600);
    await file.writeFile(text).finally(() => file.close());
    return true;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EEXIST") return false;
    throw error;
  }
}

function parseOwner(text: string): Owner | null {
  const { pid, host } = (jsonOrUndefined(text) ?? {}) as Partial<Owner>;
  return Number.isSafeInteger(pid) && typeof host === "string" ? { pid: Number(pid), host } : null;
}

/** Of a process on another computer, or in another container, nothing is known: it counts as running. */
function isRunning({ pid, host }: Owner): boolean {
  if (host !== hostname()) return true;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}

const describe = (owner: Owner | null, path: string) =>
  owner
    ? `process ${owner.pid} on ${owner.host} uses it (delete ${path} if that is no mock)`
    : `another mock uses it (delete ${path} if none does)`;

/**
 * Of several mocks that find the same stale lock, the one that creates the second file replaces it. The lock itself is
 * there all the time, so that no other mock can create it meanwhile.
 */
async function replaceStale(path: string, stale: string, text: string): Promise<boolean> {
  const draft = `${path}.replacing`;
  if (!(await createFile(draft, text))) return false;
  if ((await readFile(path, "utf8").catch(() => null)) === stale) {
    await rename(draft, path);
    return true;
  }
  await rm(draft, { force: true });
  return false;
}

async function removeOwn(path: string, text: string): Promise<void> {
  if ((await readFile(path, "utf8").catch(() => null)) === text) await rm(path, { force: true });
}
