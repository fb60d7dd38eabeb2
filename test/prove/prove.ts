// `npm run prove`: planted bugs and the model, then every scope of the explorer, seeds of the simulation and the
// differential tests. Each part has an equal share of the time; nothing is kept between runs but what `--record` writes.

import { join } from "node:path";
import { parseArgs } from "node:util";
import { scopes } from "../integration/explorer/scopes.ts";
import { plantedBugs } from "./planted-bugs.ts";
import {
  addSeeds,
  createProof,
  isProved,
  type Proof,
  type ProofPart,
  proofParts,
  recordProof,
  summarize,
} from "./proof.ts";
import { type PlannedTask, ProofProcesses, plan } from "./proof-processes.ts";
import { modelMissing, proveModel } from "./prove-model.ts";

const usage = `usage: npm run prove -- [--only PART,…] [--minutes 10] [--seeds N] [--from 1] [--scopes NAME,…] [--processes 1] [--record]

  --only PARTS   of ${proofParts.join(", ")}. Default: all
  --minutes N    how long to run, shared by the parts. Planted bugs are tried to the end. Default: 10
  --seeds N      how many seeds, whatever time they take. Default: as many as there is time for
  --from N       the first seed. Default: 1
  --scopes NAMES scopes of the explorer. Default: all
  --processes N  how many processes share the work. Default: 1
  --record       write the results of the parts that ran to test/prove/results
`;

const seedsPerTask = 50;
const comparisonMs = 60_000;
const print = (text: string) => void process.stdout.write(`${text}\n`);

interface Options {
  readonly parts: readonly ProofPart[];
  readonly minutes: number;
  readonly seeds: number | undefined;
  readonly from: number;
  readonly scopes: readonly string[];
  readonly processes: number;
  readonly record: boolean;
}

async function main(args: readonly string[]): Promise<number> {
  const options = readArguments(args);
  if (!options) {
    process.stderr.write(usage);
    return 2;
  }
  const proof = createProof(options.from);
  const partMs = (options.minutes * 60_000) / options.parts.length;
  using processes = new ProofProcesses(options.processes);
  for (const part of options.parts) {
    const endMs = performance.now() + partMs;
    const leftMs = () => endMs - performance.now();
    if (part === "model") await checkModel(proof, leftMs);
    else {
      const tasks = tasksOf[part](proof, options, leftMs);
      // Each comparison continues the results of the one before.
      const count = part === "differential" ? 1 : options.processes;
      await processes.run(() => tasks.next().value ?? undefined, count);
    }
  }
  print(summarize(proof));
  if (options.record) recordProof(proof, options.parts, join(import.meta.dirname, "results"));
  return isProved(proof) ? 0 : 1;
}

type Tasks = Generator<PlannedTask, void>;
type TasksOf = (proof: Proof, options: Options, leftMs: () => number) => Tasks;

const tasksOf: Readonly<Record<Exclude<ProofPart, "model">, TasksOf>> = {
  *bugs(proof) {
    for (const { name } of plantedBugs)
      yield plan({ kind: "bug", name }, (counterexample) => {
        proof.bugs[name] = counterexample ?? null;
      });
  },
  *explorer(proof, { scopes: names, processes }, leftMs) {
    for (const [index, name] of names.entries()) {
      const share = (leftMs() * processes) / (names.length - index);
      const budgetMs = Math.max(1, Math.min(leftMs(), share));
      yield plan({ kind: "scope", name, budgetMs }, (result) => {
        proof.explorer[name] = result;
      });
    }
  },
  *seeds(proof, { from, seeds }, leftMs) {
    const endSeed = seeds === undefined ? Number.POSITIVE_INFINITY : from + seeds;
    for (let next = from; next < endSeed && proof.seeds.failures.length === 0; next += seedsPerTask) {
      if (seeds === undefined && leftMs() <= 0) return;
      const count = Math.min(seedsPerTask, endSeed - next);
      yield plan({ kind: "seeds", from: next, count }, (result) => addSeeds(proof, result));
    }
  },
  *differential(proof, _, leftMs) {
    let mayContinue = true;
    while (mayContinue && leftMs() > 0) {
      const budgetMs = Math.min(comparisonMs, leftMs());
      yield plan({ kind: "differential", results: proof.differential, budgetMs }, (outcome) => {
        mayContinue = outcome.mayContinue;
        Object.assign(proof.differential, outcome.results);
      });
    }
  },
};

async function checkModel(proof: Proof, leftMs: () => number): Promise<void> {
  const missing = modelMissing();
  if (missing !== undefined) print(`the model is not checked: ${missing}`);
  else await proveModel(proof, leftMs, print);
}

function readArguments(args: readonly string[]): Options | undefined {
  const string = { type: "string" } as const;
  const names = { only: string, minutes: string, seeds: string, from: string, scopes: string };
  const boolean = { type: "boolean", default: false } as const;
  try {
    const { values } = parseArgs({
      args: [...args],
      options: { ...names, processes: string, record: boolean },
    });
    const parts = proofParts.filter((part) => values.only?.split(",").includes(part) ?? true);
    const chosen = values.scopes?.split(",") ?? scopes.map(({ name }) => name);
    const areKnown =
      (values.only?.split(",") ?? []).every((part) => proofParts.some((known) => known === part)) &&
      chosen.every((name) => scopes.some((scope) => scope.name === name));
    const minutes = Number(values.minutes ?? 10);
    const seeds = values.seeds === undefined ? undefined : integer(values.seeds);
    const [from, processes] = [integer(values.from ?? "1"), integer(values.processes ?? "1")];
    if (!areKnown || !(minutes > 0) || Number.isNaN(seeds) || !(from >= 1) || !(processes <= 64))
      return undefined;
    return { parts, minutes, seeds, from, scopes: chosen, processes, record: values.record };
  } catch {
    return undefined; // an unknown option
  }
}

const integer = (text: string) => (/^[1-9]\d{0,8}$/.test(text) ? Number(text) : Number.NaN);

process.exitCode = await main(process.argv.slice(2));
