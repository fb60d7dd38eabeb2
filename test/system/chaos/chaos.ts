// `npm run chaos -- --only leader --seeds 10`: breaks servers, networks and receivers while deliveries arrive, and
// counts what was lost, applied twice or left in a wrong state.

import { parseArgs } from "node:util";
import { killGroup } from "./cells/kill-cells.ts";
import { postgresGroup } from "./cells/postgres-cells.ts";
import { rabbitmqGroup } from "./cells/rabbitmq-cells.ts";
import { releaseGroup } from "./cells/release-cells.ts";
import type { ChaosCell, ChaosGroup, ChaosWorld } from "./chaos-cell.ts";
import { chaosTable, isGood, type Run } from "./chaos-results.ts";
import { runCell } from "./run-cell.ts";

const usage = `usage: npm run chaos -- [--only TEXT]… [--seeds 1] [--seed 1] [--outage-seconds 10]

  --only TEXT  the cells whose names contain it; may be repeated. Default: all
  --seeds N    runs of each cell. Default: 1
  --seed N     seed of the first run. Default: 1
  --outage-seconds N  how long PostgreSQL of all shards is down in the cell of that name. Default: 10

Prints a report per run as JSON on stderr, and a table of the cells: acknowledged, rejected, lost, applied twice, wrong
states, and the longest pauses. Exit code:
1 when a run is not flawless or the servers do not start, 2 for wrong arguments.
`;

interface Options {
  readonly only: readonly string[];
  readonly seeds: number;
  readonly seed: number;
  readonly outageMs: number;
}

/** Each starts its own servers. */
const groupsOf = ({ outageMs }: Options): readonly ChaosGroup[] => [
  killGroup(),
  postgresGroup(),
  rabbitmqGroup(outageMs),
  releaseGroup(),
];

async function main(args: readonly string[]): Promise<number> {
  const options = readArguments(args);
  if (!options) {
    process.stderr.write(usage);
    return 2;
  }
  const runs: Run[] = [];
  for (const group of groupsOf(options)) runs.push(...(await runGroup(group, options)));
  if (runs.length === 0) {
    process.stderr.write(`expected a part of the name of a cell, got ${options.only.join(", ")}\n`);
    return 2;
  }
  process.stdout.write(chaosTable(runs));
  return runs.every(isGood) ? 0 : 1;
}

async function runGroup(
  group: ChaosGroup,
  { only, seed: firstSeed, seeds }: Options,
): Promise<readonly Run[]> {
  const runs: Run[] = [];
  await using cells = group;
  for (const cell of cells.cells.filter(({ name }) => only.some((text) => name.includes(text)))) {
    await using worlds = new Worlds(cell);
    for (let seed = firstSeed; seed < firstSeed + seeds; seed++) {
      const run: Run = {
        cell: cell.name,
        seed,
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
  #world: ChaosWorld | undefined;

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

function readArguments(args: readonly string[]): Options | undefined {
  const text = { type: "string" } as const;
  const options = {
    only: { ...text, multiple: true },
    seeds: text,
    seed: text,
    "outage-seconds": text,
  } as const;
  const number = (given: string | undefined, usual: number) => {
    const found = given === undefined ? usual : Number(given);
    if (!(found > 0)) throw new Error("expected a positive number");
    return found;
  };
  try {
    const { values } = parseArgs({ args: [...args], options });
    return {
      only: values.only ?? [""],
      seeds: number(values.seeds, 1),
      seed: number(values.seed, 1),
      outageMs: 1_000 * number(values["outage-seconds"], 10),
    };
  } catch {
    return undefined; // an unknown option or no number
  }
}

process.exitCode = await main(process.argv.slice(2));
