// `npm run crash -- --rounds 500 --store postgres --processes 2`: kills receivers and counts what was lost, applied twice
// or left in a wrong state. `--break` runs with a known bug, which the counts must show.

import { parseArgs } from "node:util";
import { type BrokenReceiver, brokenReceivers } from "../support/killable-receiver.ts";
import { findPostgres } from "../support/postgres-binaries.ts";
import { type CrashStoreName, crashStores } from "./crash-store.ts";
import { type CrashOptions, type CrashReport, isFlawless, runCrashRounds } from "./run-crash-rounds.ts";

const usage = `usage: npm run crash -- [--rounds 50] [--store sqlite] [--processes 1] [--seed 1] [--json]

  --rounds N     number of rounds, of about a second each. Default: 50
  --store NAME   ${crashStores.join(" or ")}. Default: sqlite
  --processes N  receivers on the store at the same time, 1 to 8. Default: 1
  --seed N       seed of the first round. Rounds 101 to 500 of an interrupted run: --seed 101 --rounds 400
  --json         print the result as JSON

Prints the deliveries that were acknowledged, lost, applied twice, and the tasks with a wrong state. Exit code: 1 when
one of the last three is not 0, 2 for wrong arguments or when PostgreSQL is missing.
`;

async function main(args: readonly string[]): Promise<number> {
  const options = readArguments(args);
  if (options === undefined) {
    process.stderr.write(usage);
    return 2;
  }
  const postgres = findPostgres();
  if (options.store === "postgres" && "missing" in postgres) {
    process.stderr.write(`${postgres.missing}\n`);
    return 2;
  }
  const startedMs = Date.now();
  const seconds = () => Math.round((Date.now() - startedMs) / 1000);
  const onProgress = (report: CrashReport) =>
    process.stderr.write(
      `${report.roundsDone} of ${report.rounds} rounds, ${seconds()} s: ${summary(report)}\n`,
    );
  const report = await runCrashRounds({ ...options, onProgress });
  const { examples, ...counts } = report;
  for (const example of examples) process.stderr.write(`${example}\n`);
  const text = options.json ? JSON.stringify({ ...counts, seconds: seconds(), examples }) : summary(report);
  process.stdout.write(`${text}\n`);
  return isFlawless(report) ? 0 : 1;
}

function summary({ kills, sent, acknowledged, lost, twice, wrong }: CrashReport): string {
  return `${kills} kills, ${sent} attempts, ${acknowledged} acknowledged, ${lost} lost, ${twice} twice, ${wrong} wrong`;
}

type Options = Omit<CrashOptions, "onProgress"> & { readonly json: boolean };

function readArguments(args: readonly string[]): Options | undefined {
  try {
    const text = { type: "string" } as const;
    const options = { rounds: text, store: text, processes: text, seed: text, break: text };
    const { values } = parseArgs({ args: [...args], options: { ...options, json: { type: "boolean" } } });
    const rounds = wholeNumber(values.rounds ?? "50", 100_000);
    const processes = wholeNumber(values.processes ?? "1", 8);
    const seed = wholeNumber(values.seed ?? "1", 1e9);
    const store = crashStores.find((name): name is CrashStoreName => name === (values.store ?? "sqlite"));
    const broken = brokenReceivers.find((name): name is BrokenReceiver => name === values.break);
    if (!rounds || !processes || !seed || !store || (values.break !== undefined && !broken)) return undefined;
    return { rounds, processes, seed, store, broken, json: values.json === true };
  } catch {
    return undefined; // an unknown option
  }
}

function wholeNumber(value: string, max: number): number | undefined {
  const number = Number(value);
  return /^\d+$/.test(value) && number >= 1 && number <= max ? number : undefined;
}

process.exitCode = await main(process.argv.slice(2));
