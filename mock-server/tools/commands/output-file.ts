// Files that a command writes, named by a flag: an error names both.

import { access, constants, stat, writeFile } from "node:fs/promises";
import { dirname, extname } from "node:path";
import { CommandError, UsageError } from "@workspace-tasks/kernel/cli/command-error.ts";
import { reasonOf } from "@workspace-tasks/mock-server/parts";

/** Checked before a run that takes long. @throws CommandError for a file that cannot be written */
export const checkWritable = (flag: string, path: string): Promise<void> =>
  orFail(`${flag}: cannot write ${path}`, async () => {
    const found = await stat(path).catch(() => null);
    if (found?.isDirectory()) throw Object.assign(new Error(), { code: "EISDIR" });
    await access(found ? path : dirname(path), constants.W_OK);
  });

/** @throws CommandError that says what could not be done, and why */
export async function orFail<Result>(what: string, work: () => Result | Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw new CommandError(`${what}: ${reasonOf(error)}`, 2);
  }
}

export type Renderers<Report> = Readonly<Record<".json" | ".xml", (report: Report) => string>>;

/** How the report for the file is written. @throws UsageError for another ending of its name */
export function rendererOf<Report>(renderers: Renderers<Report>, path: string): (report: Report) => string {
  const ending = extname(path).toLowerCase();
  if (ending === ".json" || ending === ".xml") return renderers[ending];
  const got = JSON.stringify(path);
  throw new UsageError(`--report: expected a file that ends with .json or .xml, got ${got}`);
}

export const saveFile = (flag: string, path: string, text: string): Promise<void> =>
  orFail(`${flag}: cannot write ${path}`, () => writeFile(path, text, { mode: 0o600 }));
