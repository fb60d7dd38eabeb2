// Two processes that write one file would overwrite each other's data without a word. A lock file beside it names the
// process that writes it; the lock of a process that no longer runs on this computer is replaced.

import { jsonOrUndefined } from "./json.ts";
import { nodeModule } from "./node-module.ts";

interface Owner {
  readonly pid: number;
  readonly host: string;
  /** When the process started; `null` where the system does not say. Process ids are given again. */
  readonly started?: unknown;
}

export interface FileLock {
  /** Deletes the lock file. */
  release(): Promise<void>;
}

/** With the process id, makes names and owners unique on this computer. */
let lockCount = 0;

/** Locks a file, which needs not exist. @returns the lock, or a text that says which process has it */
export async function lockFile(lockedPath: string): Promise<FileLock | string> {
  const { readFile, realpath } = nodeModule("node:fs/promises");
  // Beside the file itself: processes that reach it by several links have one lock.
  const path = `${await realpath(lockedPath).catch(() => lockedPath)}.lock`;
  const started = await startOf(process.pid);
  const text = JSON.stringify({ pid: process.pid, host: hostname(), started, id: ++lockCount });
  // One retry after another process released or replaced it.
  for (let attempt = 0; attempt < 2; attempt++) {
    if (await createFile(path, text)) return { release: () => removeOwn(path, text) };
    const found = await readFile(path, "utf8").catch(() => null);
    if (found === null) continue;
    const owner = parseOwner(found);
    if (owner === null || (await isRunning(owner))) return describe(owner, path);
    if (await replaceStale(path, found, text)) return { release: () => removeOwn(path, text) };
  }
  return describe(null, `${path}, and ${draftOf(path)} if it exists`);
}

const hostname = () => nodeModule("node:os").hostname();

/** `false` when there is a file, or a link, of this name. */
async function createFile(path: string, text: string): Promise<boolean> {
  const { open, rm } = nodeModule("node:fs/promises");
  const file = await open(path, "wx", 0o600).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "EEXIST") return undefined;
    throw error;
  });
  if (!file) return false;
  try {
    await file.writeFile(text).finally(() => file.close());
    return true;
  } catch (error) {
    // The disk is full: an empty lock would stay when it no longer is.
    await rm(path, { force: true });
    throw error;
  }
}

function parseOwner(text: string): Owner | null {
  const owner = (jsonOrUndefined(text) ?? {}) as Partial<Owner>;
  const { pid, host, started } = owner;
  return Number.isSafeInteger(pid) && typeof host === "string" ? { pid: Number(pid), host, started } : null;
}

/** Of a process on another computer, or in another container, nothing is known: it counts as running. */
async function isRunning({ pid, host, started }: Owner): Promise<boolean> {
  if (host !== hostname()) return true;
  try {
    process.kill(pid, 0);
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
  const now = await startOf(pid);
  return typeof started !== "string" || now === null || now === started;
}

/** The boot of the machine and the time after it at which a process started, on Linux. */
async function startOf(pid: number): Promise<string | null> {
  const { readFile } = nodeModule("node:fs/promises");
  try {
    const boot = await readFile("/proc/sys/kernel/random/boot_id", "utf8");
    const stat = await readFile(`/proc/${pid}/stat`, "utf8");
    // The name of the program, in brackets, may have spaces and brackets.
    const ticks = stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19];
    return `${boot.trim()}/${ticks}`;
  } catch {
    return null;
  }
}

const draftOf = (path: string) => `${path}.replacing`;

const describe = (owner: Owner | null, path: string) =>
  owner
    ? `process ${owner.pid} on ${owner.host} uses it (delete ${path} if that is another program)`
    : `another process uses it (if none does, delete ${path})`;

/**
 * Of several processes that find the same stale lock, the one that creates the second file replaces it. The lock itself is
 * there all the time, so that no other process can create it meanwhile.
 */
async function replaceStale(path: string, stale: string, text: string): Promise<boolean> {
  const { readFile, rename, rm } = nodeModule("node:fs/promises");
  const draft = draftOf(path);
  if (!(await createFile(draft, text))) return false;
  if ((await readFile(path, "utf8").catch(() => null)) === stale) {
    await rename(draft, path);
    return true;
  }
  await rm(draft, { force: true });
  return false;
}

async function removeOwn(path: string, text: string): Promise<void> {
  const { readFile, rm } = nodeModule("node:fs/promises");
  if ((await readFile(path, "utf8").catch(() => null)) === text) await rm(path, { force: true });
}
