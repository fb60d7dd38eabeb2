import { appendFileSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { extname } from "node:path";
import { CommandError, UsageError } from "../../cli/command-error.ts";
import type { CommandIo } from "../../cli/command-line.ts";
import type { Observation } from "../compare/observe/observation.ts";
import type { PlanInput } from "../compare/plan/plan-probes.ts";
import { type ComparisonRecord, headerLine, observationLine, parseRecord } from "../compare/record.ts";
import type { CompareReport } from "../compare/report/compare-report.ts";
import { renderJsonReport } from "../compare/report/json-report.ts";
import { renderJunitReport } from "../compare/report/junit-report.ts";
import { renderMarkdownReport } from "../compare/report/markdown-report.ts";

const renderers: Readonly<Record<string, (report: CompareReport) => string>> = {
  ".json": renderJsonReport,
  ".md": renderMarkdownReport,
  ".xml": renderJunitReport,
};

/** @throws UsageError for a file name of another kind */
export function reportWriter(path: string): (report: CompareReport) => Promise<void> {
  const render = renderers[extname(path)];
  if (!render)
    throw new UsageError(
      `--report: expected a file that ends with .json, .md or .xml, got ${JSON.stringify(path)}`,
    );
  return (report) => save("--report", path, render(report));
}

export async function writeSettings(path: string, report: CompareReport, io: CommandIo): Promise<void> {
  const { settings, notExpressed } = report;
  const $schema = "./node_modules/workspace-tasks/mock-settings.schema.json";
  await save("--write", path, `${JSON.stringify({ $schema, ...settings }, null, 2)}\n`);
  io.stderr.write(`compare: wrote ${path}; use it with workspace-tasks mock --settings ${path}\n`);
  if (notExpressed.length > 0) {
    io.stderr.write(`compare: no setting expresses ${notExpressed.join(", ")}\n`);
  }
}

export interface OpenRecord {
  append(observation: Observation): void;
  close(): Promise<void>;
}

interface RecordOptions {
  readonly path: string | undefined;
  readonly isResumed: boolean;
  readonly runId: string;
  readonly plan: PlanInput;
}

/** Each observation is in the file before the next request is sent. */
export async function openRecord({ path, isResumed, runId, plan }: RecordOptions): Promise<OpenRecord> {
  if (path === undefined) return { append() {}, close: async () => {} };
  const { permissions, keys, hasGateway } = plan;
  if (!isResumed) {
    await save(
      "--record",
      path,
      headerLine({ permissions: [...permissions], keys: [...keys], hasGateway, runId }),
    );
  }
  return {
    append: (observation) => appendFileSync(path, observationLine(observation)),
    close: async () => {},
  };
}

export async function readRecord(flag: string, path: string): Promise<ComparisonRecord> {
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (error) {
    throw new CommandError(`${flag}: cannot read ${path}: ${codeOf(error)}`, 2);
  }
  try {
    return parseRecord(text);
  } catch (error) {
    throw new CommandError(`${flag}: ${path}: ${error instanceof Error ? error.message : ""}`, 2);
  }
}

async function save(flag: string, path: string, text: string): Promise<void> {
  try {
    await writeFile(path, text, { mode: 0o600 });
  } catch (error) {
    throw new CommandError(`${flag}: cannot write ${path}: ${codeOf(error)}`, 2);
  }
}

const codeOf = (error: unknown) =>
  error instanceof Error && "code" in error ? String(error.code) : "it is not accessible";
