// A command replaces regular files alone, and those alone that it could have written: `/dev/stdout`, a device or a file of
// someone else at the path is a mistake of the one who typed it.

import type { Stats } from "node:fs";
import { access, constants, mkdtemp, open, readlink, realpath, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { privacyOf } from "./private-file.ts";
import { isError } from "./realm.ts";

/** What a command writes. */
export interface OutputKind {
  /** Names it in messages, such as `a snapshot of a mock`. */
  readonly name: string;
  /** Each of its files has this text in its first megabyte. */
  readonly mark: RegExp;
  /** Whether each is for its owner alone, also one that replaces a file with another mode. Default false. */
  readonly isPrivate?: boolean;
}

export interface OutputFile {
  /** The path has no links: a link stays, its target is written. */
  readonly path: string;
  /** The mode of the own file that is replaced; 0600 otherwise. */
  readonly mode: number;
}

/**
 * Finds out whether the file can be written, and changes nothing.
 * @throws Error that says what is there, for what is no regular file, is read-only, also for root, or has other contents
 */
export async function findOutputFile(path: string, kind: OutputKind): Promise<OutputFile> {
  const found = await unlessMissing(stat(path));
  if (found === null) {
    const target = await targetOf(path);
    await access(dirname(target), constants.W_OK);
    return { path: target, mode: 0o600 };
  }
  if (!found.isFile()) throw new Error(`expected a regular file, got ${nameOf(found)}`);
  if ((found.mode & 0o222) === 0) throw new Error("the file is read-only");
  await access(path, constants.W_OK);
  const real = await realpath(path);
  await access(dirname(real), constants.W_OK);
  if (found.size > 0 && !kind.mark.test(await startOf(real)))
    throw new Error(`the file there is not ${kind.name}`);
  return { path: real, mode: privacyOf(found) === "foreign" ? 0o600 : found.mode & 0o777 };
}

/**
 * Writes a temporary file, syncs and renames it: a reader finds the old file or the complete new one.
 * @returns the path without links
 * @throws Error as `findOutputFile`, and with the code of the system
 */
export async function writeOutputFile(path: string, text: string, kind: OutputKind): Promise<string> {
  const output = await findOutputFile(path, kind);
  // The draft is in a new folder that only this user can enter: nothing can be waiting there under the name of the file.
  const folder = await mkdtemp(join(dirname(output.path), `.${basename(output.path)}.draft-`));
  const draft = join(folder, "draft");
  try {
    const file = await open(draft, "wx", 0o600);
    try {
      await file.writeFile(text);
      await file.chmod(kind.isPrivate ? 0o600 : output.mode);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(draft, output.path);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  return output.path;
}

/** Where a link without a target points to: from its own folder, which a link in `path` may lead to. */
async function targetOf(path: string): Promise<string> {
  const link = await readlink(path).catch(() => null);
  return link === null ? path : targetOf(resolve(await realpath(dirname(path)), link));
}

/** `null` instead of an error that says that there is no such file. */
export async function unlessMissing<Value>(pending: Promise<Value>): Promise<Value | null> {
  try {
    return await pending;
  } catch (error) {
    if (isError(error) && "code" in error && error.code === "ENOENT") return null;
    throw error;
  }
}

function nameOf(found: Stats): string {
  if (found.isDirectory()) return "a folder";
  if (found.isFIFO()) return "a pipe";
  return found.isSocket() ? "a socket" : "a device";
}

async function startOf(path: string): Promise<string> {
  const file = await open(path, "r");
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(startBytes), 0, startBytes, 0);
    return buffer.toString("latin1", 0, bytesRead);
  } finally {
    await file.close();
  }
}

const startBytes = 1_048_576;
