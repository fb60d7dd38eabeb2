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
import { type CellSummary, chaosTable, isGood, type Run, summarize } from "./chaos-results.ts";
import { runCell } from "./run-cell.ts";

const usage = `usage: npm run chaos -- [--group NAME] [--only TEXT]… [--seeds 1] [--seed 1] [--rounds 3] [--processes 2]
                        [--outage-seconds 10] [--record FILE]

  --group NAME  kills, postgres, rabbitmq, clocks or releases. Default: all
  --only TEXT  the cells whose names contain it; may be repeated. Default: all
  --seeds N    runs of each cell. Default: 1
  --seed N     seed of the first run. Default: 1
  --rounds N   how often each receiver is killed in a run of the group kills. Default: 3
  --processes N  receivers of the group kills. Default: 2
  --outage-seconds N  how long PostgreSQL of all shards is down in the cell of that name. Default: 10
  --record FILE  write the summary to it

Prints a report per run as JSON on stderr, and a table of the cells: acknowledged, rejected, lost, applied twice, wrong
states, and the longest pauses. Exit code:
1 when a run is not flawless, 2 for wrong arguments or when PostgreSQL or RabbitMQ is missing.
`;

interface Options {
  readonly group: string | undefined;
  readonly only: readonly string[];
  readonly seeds: number;
  readonly seed: number;
  readonly rounds: number;
  readonly processes: number;
  readonly outageMs: number;
  readonly record: string | undefined;
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
  process.stdout.write(chaosTable(summarize(runs)));
  if (options.record !== undefined)
    writeFileSync(options.record, `${JSON.stringify(recordOf(runs), null, 2)}\n`);
  return runs.every(isGood) ? 0 : 1;
}

async function runGroup(
  group: ChaosGroup,
  { only, seed: firstSeed, seeds }: Options,
): Promise<readonly Run[]> {
  const isChosen = (name: string) => only.some((text) => name.includes(text));
  if (!group.cells.some(isChosen)) return [];
  const commit = spawnSync("git", ["rev-parse", "--short", "HEAD"], { encoding: "utf8" }).stdout.trim();
  const runs: Run[] = [];
  await using started = await group.start();
  for (const cell of started.cells.filter(({ name }) => isChosen(name))) {
    await using worlds = new Worlds(cell);
    for (let seed = firstSeed; seed < firstSeed + seeds; seed++) {
      const run: Run = {
        ...{ date: new Date().toISOString(), commit, cell: cell.name, seed },
        rejectsNothing: cell.rejectsNothing === true,
        ...(await worlds.run(seed)),
      };
      runs.push(run);
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
          seed: text,
          record: text,
          rounds: text,
          processes: text,
        },
        "outage-seconds": text,
      },
    });
    const number = (given: string | undefined, usual: number) => {
      const found = given === undefined ? usual : Number(given);
      if (!(found > 0)) throw new Error("expected a positive number");
      return found;
    };
    if (values.group !== undefined && !Object.hasOwn(groups, values.group)) return undefined;
    return {
      ...{ group: values.group, only: values.only ?? [""], record: values.record },
      ...{ seeds: number(values.seeds, 1), seed: number(values.seed, 1) },
      rounds: number(values.rounds, 3),
      processes: number(values.processes, 2),
      outageMs: 1_000 * number(values["outage-seconds"], 10),
    };
  } catch {
    return undefined; // an unknown option or no number
  }
}

process.exitCode = await main(process.argv.slice(2));
