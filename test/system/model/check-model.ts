// Runs SPIN on a model: it generates a program that visits every state, gcc compiles it, and it runs.

import { execFile } from "node:child_process";
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Patch } from "../../integration/simulation/patched-product.ts";
import { findSpin } from "../../support/spin.ts";

export type ModelName = "workers" | "calls";

export interface ModelCheck {
  readonly model: ModelName;
  /** Bounds that differ from those in the model's text. */
  readonly bounds?: Readonly<Record<string, number>> | undefined;
  /**
   * `safety`: the assertions, in every state, and none is a deadlock. `liveness`: every run ends in which no process that can
   * always continue stops, which takes longer. Default `safety`.
   */
  readonly property?: "safety" | "liveness" | undefined;
  readonly patches?: readonly Patch[] | undefined;
  /** Finds the shortest counterexample instead of any; of assertions only. Default false. */
  readonly isShortest?: boolean | undefined;
}

export interface CheckedModel {
  readonly states: number;
  readonly transitions: number;
  /** Of the longest run. */
  readonly depth: number;
  readonly elapsedMs: number;
  readonly violation: string | undefined;
  /** What each step of the counterexample is, as the model's text has it. */
  readonly story: readonly string[];
}

const depthMax = 200_000;
const memoryMb = 16_000;
const isFair = "FAIR";

export async function checkModel(check: ModelCheck): Promise<CheckedModel> {
  const { model, property = "safety", isShortest = false } = check;
  return withModel(check, async ({ folder, run, flags }) => {
    const isLiveness = property === "liveness";
    const defines = isLiveness ? [...flags, `-D${isFair}`] : flags;
    await run("spin", [...defines, "-a", `${model}.pml`]);
    const search = isLiveness ? ["-DNFAIR=4"] : ["-DSAFETY", "-DNOCLAIM", ...(isShortest ? ["-DREACH"] : [])];
    // A mutant is refuted before an optimised program would have been compiled.
    await compile(run, [isShortest ? "-O0" : "-O1", ...search]);
    const startedMs = performance.now();
    // A smaller table of states for what ends early: the program clears all of it first.
    const modes = [...(isLiveness ? ["-a", "-f"] : []), ...(isShortest ? ["-i", "-w18"] : ["-w22"])];
    const output = await run(join(folder, "pan"), ["-E", `-m${depthMax}`, ...modes]);
    const elapsedMs = performance.now() - startedMs;
    const violation = output.match(/^pan:\d+: (.*?)(?: \(at depth \d+\))?$/m)?.[1];
    if (/max search depth too small|out of memory|search not completed/i.test(output) && !violation)
      throw new Error(`${model}: the search is not complete:\n${output}`);
    return {
      states: numberIn(output, /^\s*(\d+) states, stored/m),
      transitions: numberIn(output, /^\s*(\d+) transitions/m),
      depth: numberIn(output, /depth reached (\d+)/),
      ...{ elapsedMs, violation },
      story:
        violation === undefined
          ? []
          : toldBy(await run("spin", [...defines, "-t", "-p", `${model}.pml`]), folder),
    };
  });
}

/** What the model prints in each transition of each state. */
export function printTransitions(check: ModelCheck): Promise<string> {
  return withModel(check, async ({ folder, run, flags }) => {
    await run("spin", [...flags, "-a", `${check.model}.pml`]);
    await compile(run, ["-O0", "-DSAFETY", "-DNOCLAIM", "-DPRINTF"]);
    return run(join(folder, "pan"), ["-E", "-w18", `-m${depthMax}`]);
  });
}

type Run = (program: string, args: readonly string[]) => Promise<string>;

interface OpenModel {
  readonly folder: string;
  readonly run: Run;
  readonly flags: readonly string[];
}

async function withModel<Result>(
  { bounds = {}, patches = [] }: ModelCheck,
  use: (model: OpenModel) => Promise<Result>,
): Promise<Result> {
  const tools = findSpin();
  if ("missing" in tools) throw new Error(tools.missing);
  const folder = mkdtempSync(join(tmpdir(), "workspace-tasks-model-"));
  try {
    for (const name of modelFiles()) cpSync(join(import.meta.dirname, name), join(folder, name));
    for (const patch of patches) applyPatch(folder, patch);
    const run: Run = async (program, args) => {
      const isCompiler = program === "compiler";
      const executable = isCompiler ? tools.compiler : program === "spin" ? tools.spin : program;
      const words = isCompiler ? [...tools.compilerFlags, ...args] : args;
      const options = { cwd: folder, env: tools.env, maxBuffer: 1_000_000_000 };
      const { stdout } = await promisify(execFile)(executable, words, options);
      return stdout;
    };
    const flags = Object.entries(bounds).map(([name, value]) => `-D${name}=${value}`);
    return await use({ folder, run, flags });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const modelFiles = () => readdirSync(import.meta.dirname).filter((name) => name.endsWith(".pml"));

/** Every state is visited: no reduction. The text of the program has warnings that the models do not cause. */
const compile = (run: Run, flags: readonly string[]) =>
  run("compiler", ["-w", "-DNOREDUCE", `-DMEMLIM=${memoryMb}`, ...flags, "-o", "pan", "pan.c"]);

/** The text must occur once in all models. */
function applyPatch(folder: string, { find, replace }: Patch): void {
  const matches = modelFiles().filter((name) => readFileSync(join(folder, name), "utf8").includes(find));
  const [name] = matches;
  const text = name === undefined ? "" : readFileSync(join(folder, name), "utf8");
  if (name === undefined || matches.length > 1 || text.split(find).length !== 2)
    throw new Error(
      `expected the text once in the models, found it in ${matches.join(", ") || "none"}: ${find}`,
    );
  writeFileSync(
    join(folder, name),
    text.replace(find, () => replace),
  );
}

/** A line for each step: the process, and the condition with which the step begins. */
function toldBy(trail: string, folder: string): readonly string[] {
  const texts = new Map(
    modelFiles().map((name) => [name, readFileSync(join(folder, name), "utf8").split("\n")] as const),
  );
  const told = new Map<string, string>();
  for (const [, step, id, name, file, line] of trail.matchAll(stepPattern)) {
    if (step === undefined || told.has(step) || name === ":init:") continue;
    const lines = texts.get(file ?? "")?.slice(Number(line) - 1) ?? [];
    told.set(step, `${name} ${id}: ${lines.map(conditionIn).find((text) => text !== "") ?? ""}`);
  }
  return [...told.values()];
}

/** Such as `25:	proc  7 (receiver:1) workers.pml:97 (state 135)`. */
const stepPattern = /^ *(\d+):\s+proc +(\d+) \((\S+?):\d+\) (\S+):(\d+) /gm;

const conditionIn = (line: string) =>
  line
    .replaceAll(/\/\*.*?\*\//g, "")
    .replace(/^\s*(:: )?(if|do|d_step \{)?/, "")
    .replace(/(->| \}| \{)?\s*$/, "")
    .trim();

function numberIn(text: string, pattern: RegExp): number {
  const found = text.match(pattern)?.[1];
  if (found === undefined) throw new Error(`expected ${pattern} in:\n${text}`);
  return Number(found);
}
