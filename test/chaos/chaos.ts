// `npm run chaos -- --only leader --seeds 10`: breaks servers, networks, clocks and receivers while deliveries arrive, and
// counts what was lost, applied twice or left in a wrong state.

import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { killGroup } from "./cells/kill-cells.ts";
import { postgresGroup } from "./cells/postgres-cells.ts";
import { rabbitmqClockGroup, rabbitmqGroup } from "./cells/rabbitmq-cells.ts";
import { releaseGroup } from "./cells/release-cells.ts";
import type { ChaosCell, ChaosGroup, FaultyWorld } from "./chaos-cell.ts";
import {
  appendToLog,
  type CellSummary,
  chaosTable,
  isGood,
  type Run,
  readLog,
  summarize,
} from "./chaos-results.ts";
import { runCell } from "./run-cell.ts";

const usage = `usage: npm run chaos -- [--group NAME] [--only TEXT]… [--seeds 1] [--slow-seeds N] [--seed 1]
                        [--rounds 3] [--processes 2] [--outage-seconds 10] [--log FILE] [--for-minutes N]
                        [--record FILE] [--json]

  --group NAME  kills, postgres, rabbitmq, clocks or releases. Default: all
  --only TEXT  the cells whose names contain it; may be repeated. Default: all
  --seeds N    runs of each cell. Default: 1
  --slow-seeds N  runs of each cell that takes more than some 6 s. Default: as --seeds
  --seed N     seed of the first run. Default: 1
  --rounds N   how often each receiver is killed in a run of the group kills. Default: 3
  --processes N  receivers of the group kills. Default: 2
  --outage-seconds N  how long PostgreSQL of all shards is down in the cell of that name. Default: 10
  --log FILE   append each run to it, and skip the runs that it contains already
  --for-minutes N  start no run after that time
  --record FILE  write a summary of the log to it
  --json       print a report per run as JSON

Prints a table of the cells: acknowledged, rejected, lost, applied twice, wrong states, and the longest pauses. Exit code:
1 when a run is not flawless, 2 for wrong arguments or when PostgreSQL or RabbitMQ is missing.
`;

interface Options {
  readonly group: string | undefined;
  readonly only: readonly string[];
  readonly seeds: number;
  readonly slowSeeds: number;
  readonly seed: number;
  readonly rounds: number;
  readonly processes: number;
  readonly outageMs: number;
  readonly log: string | undefined;
  readonly endsAtMs: number;
  readonly record: string | undefined;
  readonly json: boolean;
}

type GroupName = "kills" | "postgres" | "rabbitmq" | "clocks" | "releases";
/** Each starts its own servers. */
const groups: Readonly<Record<GroupName, (options: Options) => ChaosGroup>> = {
  kills: killGroup,
  postgres: () => postgresGroup(),
  rabbitmq: ({ outageMs }) => rabbitmqGroup(outageMs),
  clocks: rabbitmqClockGroup,
  releases: releaseGroup,
};

async function main(args: readonly string[]): Promise<number> {
  const options = readArguments(args);
  if (!options) {
    process.stderr.write(usage);
    return 2;
  }
  const chosen = Object.entries(groups)
    .filter(([name]) => options.group === undefined || options.group === name)
    .map(([, group]) => group(options));
  const runs: Run[] = [];
  for (const group of chosen) {
    if (group.missing !== undefined) {
      process.stderr.write(`${group.missing}\n`);
      return 2;
    }
    runs.push(...(await runGroup(group, options)));
  }
  const all = options.log === undefined ? runs : readLog(options.log);
  if (options.json) for (const run of runs) console.log(JSON.stringify(run));
  else process.stdout.write(chaosTable(summarize(all)));
  if (options.record !== undefined)
    writeFileSync(options.record, `${JSON.stringify(recordOf(all), null, 2)}\n`);
  return runs.every(isGood) ? 0 : 1;
}

interface PlannedCell {
  readonly name: string;
  readonly seeds: readonly number[];
}

/** The runs that are not in the log. */
function plan(group: ChaosGroup, { only, seed, seeds, slowSeeds, log }: Options): readonly PlannedCell[] {
  const done = new Set(log === undefined ? [] : readLog(log).map((run) => `${run.cell} ${run.seed}`));
  return group.cells
    .filter(({ name }) => only.some((text) => name.includes(text)))
    .map(({ name, isSlow }) => ({
      name,
      seeds: Array.from({ length: isSlow ? slowSeeds : seeds }, (_, index) => seed + index).filter(
        (each) => !done.has(`${name} ${each}`),
      ),
    }))
    .filter((planned) => planned.seeds.length > 0);
}

async function runGroup(group: ChaosGroup, options: Options): Promise<readonly Run[]> {
  const planned = plan(group, options);
  if (planned.length === 0 || Date.now() > options.endsAtMs) return [];
  const commit = spawnSync("git", ["rev-parse", "--short", "HEAD"], { encoding: "utf8" }).stdout.trim();
  const runs: Run[] = [];
  await using started = await group.start();
  for (const { name, seeds } of planned) {
    const cell = started.cells.find((candidate) => candidate.name === name);
    if (!cell) continue;
    await using worlds = new Worlds(cell);
    for (const seed of seeds) {
      if (Date.now() > options.endsAtMs) return runs;
      const run: Run = {
        ...{ date: new Date().toISOString(), commit, cell: name, seed },
        rejectsNothing: cell.rejectsNothing === true,
        ...(await worlds.run(seed)),
      };
      runs.push(run);
      if (options.log !== undefined) appendToLog(options.log, run);
      process.stderr.write(`${JSON.stringify(run)}\n`);
      if (!isGood(run)) await worlds.end();
    }
  }
  return runs;
}

/** Runs follow each other in one world, for as long as that is whole. */
class Worlds implements AsyncDisposable {
  readonly #cell: ChaosCell;
  #world: FaultyWorld | undefined;

  constructor(cell: ChaosCell) {
    this.#cell = cell;
  }

  async run(seed: number): Promise<Pick<Run, "report" | "error">> {
    try {
      if (this.#cell.usesUpWorld) await this.end();
      this.#world ??= await this.#cell.start();
      return { report: await runCell(this.#cell, this.#world, seed) };
    } catch (error) {
      await this.end();
      return { error: error instanceof Error ? (error.stack ?? error.message) : String(error) };
    }
  }

  async end(): Promise<void> {
    const world = this.#world;
    this.#world = undefined;
    await world?.[Symbol.asyncDispose]();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.end();
  }
}

const byName = (a: CellSummary, b: CellSummary) => (a.cell < b.cell ? -1 : 1);

function recordOf(runs: readonly Run[]) {
  const dates = runs.map(({ date }) => date.slice(0, 10)).toSorted();
  return { from: dates[0], to: dates.at(-1), cells: summarize(runs).toSorted(byName) };
}

function readArguments(args: readonly string[]): Options | undefined {
  try {
    const text = { type: "string" } as const;
    const { values } = parseArgs({
      args: [...args],
      options: {
        ...{
          group: text,
          only: { ...text, multiple: true },
          seeds: text,
          "slow-seeds": text,
          seed: text,
          log: text,
          record: text,
          rounds: text,
          processes: text,
        },
        ...{ "outage-seconds": text, "for-minutes": text, json: { type: "boolean" } },
      },
    });
    const number = (given: string | undefined, usual: number) => {
      const found = given === undefined ? usual : Number(given);
      if (!(found > 0)) throw new Error("expected a positive number");
      return found;
    };
    const seeds = number(values.seeds, 1);
    if (values.group !== undefined && !Object.hasOwn(groups, values.group)) return undefined;
    return {
      ...{ group: values.group, only: values.only ?? [""], seeds, seed: number(values.seed, 1) },
      slowSeeds: number(values["slow-seeds"], seeds),
      rounds: number(values.rounds, 3),
      processes: number(values.processes, 2),
      outageMs: 1_000 * number(values["outage-seconds"], 10),
      ...{ log: values.log, record: values.record, json: values.json === true },
      endsAtMs: Date.now() + 60_000 * number(values["for-minutes"], 1_000_000),
    };
  } catch {
    return undefined; // an unknown option or no number
  }
}

process.exitCode = await main(process.argv.slice(2));
