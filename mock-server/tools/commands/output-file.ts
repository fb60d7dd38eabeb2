// Files that a command writes, named by a flag: an error names both.

import { extname } from "node:path";
import { UsageError } from "@workspace-tasks/kernel/cli/command-line.ts";
import { findOutputFile, type OutputKind, writeOutputFile } from "@workspace-tasks/kernel/output-file.ts";
import { orFail } from "@workspace-tasks/mock-server/parts";

const outputKind: OutputKind = {
  name: "one that this command has written",
  mark: /"tool"\s*:\s*"(?:workspace-tasks compare|check-receiver)"|<testsuite name="workspace-tasks |mock-settings\.schema\.json/,
};

/** Checked before a run that takes long. @throws CommandError for a file that cannot be written */
export const checkWritable = (flag: string, path: string): Promise<unknown> =>
  orFail(`${flag}: cannot write ${path}`, () => findOutputFile(path, outputKind), anotherFile);

/** Returns the path without links. @throws CommandError for a file that cannot be written */
export const saveFile = (flag: string, path: string, text: string): Promise<string> =>
  orFail(`${flag}: cannot write ${path}`, () => writeOutputFile(path, text, outputKind), anotherFile);

const anotherFile = "; choose another file";

export type Renderers<Report> = Readonly<Record<".json" | ".xml", (report: Report) => string>>;

/** How the report for the file is written. @throws UsageError for another ending of its name */
export function rendererOf<Report>(renderers: Renderers<Report>, path: string): (report: Report) => string {
  const ending = extname(path).toLowerCase();
  if (ending === ".json" || ending === ".xml") return renderers[ending];
  const got = JSON.stringify(path);
  throw new UsageError(`--report: expected a file that ends with .json or .xml, got ${got}`);
}

/** Starts to write the report to each of the files. */
export const saveReports = <Report>(
  renderers: Renderers<Report>,
  paths: readonly string[],
  report: Report,
): readonly Promise<unknown>[] =>
  paths.map((path) => saveFile("--report", path, rendererOf(renderers, path)(report)));

/** Every file is written that can be. @returns what failed, a sentence each */
export async function failuresOf(writing: readonly Promise<unknown>[]): Promise<readonly string[]> {
  const results = await Promise.allSettled(writing);
  return results.flatMap((result) => (result.status === "rejected" ? [String(result.reason.message)] : []));
}
