// Two processes that write one file would overwrite each other's data without a word. A lock beside it says which process
// writes it. The lock is a lease: its owner rewrites it every 10 s.
//
//   state.json.lock     of the first owner
//   state.json.lock.1   of a process that took it over: only one can create it, and it then deletes the others
//
// Whether an owner runs is known at once where process ids mean the same: in one process namespace, since one start of the
// system. Anywhere else, as in another container, who waits watches the lock for a minute and takes it if it did not change.

import { type Clock, systemClock } from "./clock.ts";
import { jsonOrUndefined } from "./json.ts";
import { nodeModule } from "./node-module.ts";
import { randomName, systemRandom } from "./random.ts";

export interface FileLock {
  /** `false` when another process has taken the lock, because this one did not renew it for a minute. */
  isOwn(): Promise<boolean>;
  /** Deletes the lock. */
  release(): Promise<void>;
}

export interface LockOptions {
  /** Default: the clock of the machine. */
  readonly clock?: Clock | undefined;
  /** Ends the wait for a lock. */
  readonly signal?: AbortSignal | undefined;
  /** Called before a wait of up to a minute, with a text that says for which process. */
  readonly onWait?: ((owner: string) => void) | undefined;
}

interface Owner {
  readonly id: string;
  readonly pid: number;
  readonly host: string;
  /** Where process ids mean the same as here; `null` where the system does not say. */
  readonly space: string | null;
  /** When the process started. Process ids are given again. */
  readonly started: string | null;
}

interface FoundLock {
  readonly number: number;
  readonly path: string;
  /** `null`: it was released meanwhile, or cannot be read. */
  readonly text: string | null;
}

const beatMs = 10_000;
const lookMs = 1_000;
const looksMax = 60;
const roundsMax = 5;

/** Locks a file, which needs not exist. @returns the lock, or a text that says which process has it */
export async function lockFile(lockedPath: string, options: LockOptions = {}): Promise<FileLock | string> {
  const { realpath } = nodeModule("node:fs/promises");
  // Beside the file itself: processes that reach it by several links have one lock.
  const path = `${await realpath(lockedPath).catch(() => lockedPath)}.lock`;
  const self = await describeSelf();
  // Other processes may release or take it at any time.
  for (let round = 0; round < roundsMax; round++) {
    const found = (await locksOf(path)).at(-1);
    const owner = await ownerInTheWay(found, self, options);
    if (owner !== undefined) return owner;
    const lock = await createLock({ path, found, self }, options.clock ?? systemClock);
    if (lock) return lock;
  }
  return `another process uses it (if none does, delete ${path})`;
}

/** The process that uses the lock; `undefined` when the lock may be taken. */
async function ownerInTheWay(
  found: FoundLock | undefined,
  self: Owner,
  { clock = systemClock, signal, onWait }: LockOptions,
): Promise<string | undefined> {
  if (!found) return undefined;
  const { path, text } = found;
  const owner = parseOwner(text ?? "");
  // Its process was killed before it wrote its name.
  const isBlank = text !== null && text.trim() === "";
  if (!owner && !isBlank) return `another process uses it (if none does, delete ${path})`;
  const name = owner ? `process ${owner.pid} on ${owner.host}` : "another process";
  const state = owner ? await stateOf(owner, self) : "unknown";
  if (state === "running") return `${name} uses it`;
  if (state === "ended") return undefined;
  onWait?.(name);
  for (let look = 0; look < looksMax; look++) {
    // Looks are counted and not the time, in which both processes may have been halted.
    await new Promise<void>((resolve) => clock.schedule(lookMs, resolve));
    signal?.throwIfAborted();
    const now = await readText(path);
    if (now === null) return undefined;
    if (now !== text)
      return `${parseOwner(now) ? name : "another process"} uses it: its lock ${path} has changed`;
  }
  return undefined;
}

/** In another process namespace, or after another start of the system, nothing is known of a process. */
async function stateOf(owner: Owner, self: Owner): Promise<"running" | "ended" | "unknown"> {
  if (owner.space === null || owner.space !== self.space) return "unknown";
  try {
    process.kill(owner.pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ESRCH") return "ended";
  }
  const started = await startOf(String(owner.pid));
  if (started === null || owner.started === null) return "unknown";
  return started === owner.started ? "running" : "ended";
}

interface NewLock {
  readonly path: string;
  /** The lock that it replaces. */
  readonly found: FoundLock | undefined;
  readonly self: Owner;
}

/** `undefined` when another process was faster. */
async function createLock({ path, found, self }: NewLock, clock: Clock): Promise<FileLock | undefined> {
  const { open, rm } = nodeModule("node:fs/promises");
  const number = found ? found.number + 1 : 0;
  const own = number === 0 ? path : `${path}.${number}`;
  const file = await open(own, "wx", 0o600).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "EEXIST") return undefined;
    throw error;
  });
  if (!file) return undefined;
  const name = JSON.stringify(self).slice(0, -1);
  let beats = 0;
  // The text has one length, so that no lock is ever longer than the disk has room for.
  const write = () => file.write(`${name},"beats":${String(beats++).padStart(12)}}`, 0);
  const remove = async () => {
    await file.close();
    if ((await readText(own))?.startsWith(name)) await rm(own, { force: true });
  };
  try {
    await write();
  } catch (error) {
    // The disk is full: an empty lock would stay when it no longer is.
    await file.close();
    await rm(own, { force: true });
    throw error;
  }
  const others = (await locksOf(path)).filter((lock) => lock.path !== own);
  const isReplaced = (lock: FoundLock) =>
    lock.number < number && (lock.number < number - 1 || lock.text === found?.text);
  if (!others.every(isReplaced) || (found && !others.some((lock) => lock.number === found.number))) {
    await remove();
    return undefined;
  }
  for (const lock of others) await rm(lock.path, { force: true });

  let beating: Promise<unknown> = Promise.resolve();
  let stop = () => {};
  const beat = () => {
    stop = clock.schedule(
      beatMs,
      () => {
        // Into this file, also when another process has replaced it: that one's lock is never written over.
        beating = write().catch(() => {});
        beat();
      },
      { background: true },
    );
  };
  beat();
  return {
    isOwn: async () => (await readText(own))?.startsWith(name) ?? false,
    async release() {
      stop();
      await beating;
      await remove();
    },
  };
}

/** The locks beside a file, the newest last. */
async function locksOf(path: string): Promise<readonly FoundLock[]> {
  const { readdir } = nodeModule("node:fs/promises");
  const base = path.replace(/^.*[/\\]/s, "");
  const folder = path.slice(0, path.length - base.length);
  const locks: FoundLock[] = [];
  for (const name of await readdir(folder || ".")) {
    const suffix = name.startsWith(base) ? /^(?:\.([1-9]\d{0,8}))?$/.exec(name.slice(base.length)) : null;
    if (!suffix) continue;
    const found = `${folder}${name}`;
    locks.push({ number: Number(suffix[1] ?? 0), path: found, text: await readText(found) });
  }
  return locks.sort((a, b) => a.number - b.number);
}

const readText = (path: string): Promise<string | null> =>
  nodeModule("node:fs/promises")
    .readFile(path, "utf8")
    .catch(() => null);

function parseOwner(text: string): Owner | null {
  const { id, pid, host, space, started } = Object(jsonOrUndefined(text)) as Partial<
    Record<keyof Owner, unknown>
  >;
  if (typeof id !== "string" || typeof host !== "string" || !Number.isSafeInteger(pid)) return null;
  const textOrNull = (value: unknown) => (typeof value === "string" ? value : null);
  return { id, pid: Number(pid), host, space: textOrNull(space), started: textOrNull(started) };
}

async function describeSelf(): Promise<Owner> {
  const host = nodeModule("node:os").hostname();
  const [space, started] = await Promise.all([processSpace(), startOf("self")]);
  return { id: randomName(systemRandom), pid: process.pid, host, space, started };
}

async function processSpace(): Promise<string | null> {
  const { readFile, readlink } = nodeModule("node:fs/promises");
  try {
    const boot = await readFile("/proc/sys/kernel/random/boot_id", "utf8");
    // In a namespace without a /proc of its own, the processes there are those of another one.
    if ((await readlink("/proc/self")) !== String(process.pid)) return null;
    return `${boot.trim()} ${await readlink("/proc/self/ns/pid")}`;
  } catch {
    return null;
  }
}

/** The time after the start of the system at which a process started, on Linux. */
async function startOf(pid: string): Promise<string | null> {
  const stat = await readText(`/proc/${pid}/stat`);
  // The name of the program, in brackets, may have spaces and brackets.
  return stat?.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? null;
}
