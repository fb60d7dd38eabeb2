import { appendFileSync } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import {
  CommandError,
  type CommandIo,
  UsageError,
  writeNotice,
} from "@workspace-tasks/kernel/cli/command-line.ts";
import { reasonOf, secretForm } from "@workspace-tasks/mock-server/parts";
import { type Captured, parseCaptured } from "../../compare/ask/deliveries.ts";
import { type Finding, parseRecord, recordHeader, recordLine } from "../../compare/findings.ts";
import { type CompareReport, renderJsonReport, renderJunitReport } from "../../compare/report.ts";
import {
  checkWritable,
  failuresOf,
  orFail,
  type Renderers,
  rendererOf,
  saveFile,
  saveReports,
} from "../output-file.ts";

const renderers: Renderers<CompareReport> = { ".json": renderJsonReport, ".xml": renderJunitReport };

export interface OutputPaths {
  readonly report: readonly string[];
  readonly write?: string | undefined;
  readonly record?: string | undefined;
}

/** Checked before anything is sent: a run takes minutes. @throws CommandError for a file that cannot be written */
export async function checkOutputs({ report, write, record }: OutputPaths): Promise<void> {
  for (const path of report) rendererOf(renderers, path);
  const targets = [
    ...report.map((path) => ["--report", path] as const),
    ...(write === undefined ? [] : [["--write", write] as const]),
    ...(record === undefined ? [] : [["--record", record] as const]),
  ];
  for (const [flag, path] of targets) await checkWritable(flag, path);
}

/** Writes every file that it can. @returns what failed, a sentence each */
export async function writeOutputs(
  { report: reports, write }: OutputPaths,
  report: CompareReport,
  io: CommandIo,
): Promise<readonly string[]> {
  const settings = write !== undefined && !report.problem ? [writeSettings(write, report, io)] : [];
  return failuresOf([...saveReports(renderers, reports, report), ...settings]);
}

async function writeSettings(path: string, report: CompareReport, io: CommandIo): Promise<void> {
  const { settings, notExpressed } = report;
  const $schema = "./node_modules/@workspace-tasks/mock-server/mock-settings.schema.json";
  await saveFile("--write", path, `${JSON.stringify({ $schema, ...settings }, null, 2)}\n`);
  writeNotice(io, "compare", `wrote ${path}; use it with workspace-tasks mock --settings ${path}`);
  if (notExpressed.length > 0) {
    writeNotice(io, "compare", `no setting expresses ${notExpressed.join(", ")}`);
  }
}

/**
 * Returns what appends to the record, if there is one: a fact is in the file before the next rule is asked.
 * @param onProblem is called once with why the record is incomplete, when the disk is full, for example
 */
export async function openRecord(
  path: string | undefined,
  onProblem: (problem: string) => void,
): Promise<(finding: Finding) => void> {
  if (path === undefined) return () => {};
  const target = await saveFile("--record", path, recordHeader);
  let hasFailed = false;
  return (finding) => {
    if (hasFailed) return;
    try {
      appendFileSync(target, recordLine(finding));
    } catch (error) {
      hasFailed = true;
      onProblem(`--record: cannot write ${path}: ${reasonOf(error)}`);
    }
  };
}

const recordBytesMax = 64 * 1_048_576;

export async function readRecord(path: string): Promise<readonly Finding[]> {
  const text = await readText("--replay", path, recordBytesMax);
  return orFail(`--replay: ${path}`, () => parseRecord(text));
}

const secretVariable = "WORKSPACE_TASKS_SIGNING_SECRET";
const capturedBytesMax = 256 * 1_048_576;

/** Reads a file of captured deliveries; its secrets come from the environment. */
export async function readCaptured(path: string, { env }: CommandIo): Promise<Captured> {
  const secrets = (env[secretVariable] ?? "").split(/[\s,]+/).filter(Boolean);
  if (secrets.length === 0 || !secrets.every((secret) => secretForm.test(secret)))
    throw new UsageError(
      `--deliveries: expected the endpoint's secrets in ${secretVariable}, the newest first`,
    );
  const text = await readText("--deliveries", path, capturedBytesMax);
  return { deliveries: await orFail(`--deliveries: ${path}`, () => parseCaptured(text)), secrets };
}

/** @throws CommandError for what is no file, or is larger */
async function readText(flag: string, path: string, bytesMax: number): Promise<string> {
  const text = await orFail(`${flag}: cannot read ${path}`, async () => {
    const found = await stat(path);
    // A device such as /dev/zero has no end.
    if (found.isCharacterDevice()) throw Object.assign(new Error(), { code: "ENXIO" });
    return found.size <= bytesMax ? readFile(path, "utf8") : undefined;
  });
  if (text !== undefined) return text.replace(/^\ufeff/, "");
  throw new CommandError(`${flag}: ${path} has more than ${bytesMax / 1_048_576} MB`);
}
