// `npm run chaos -- --only leader --seeds 10`: breaks servers, networks and receivers while deliveries arrive, and counts what
// was lost, applied twice or left in a wrong state.

import { parseArgs } from "node:util";
import { findPostgres } from "../support/postgres-binaries.ts";
import { findRabbitmq } from "../support/rabbitmq-binaries.ts";
import { postgresCells } from "./cells/postgres-cells.ts";
import { rabbitmqCells } from "./cells/rabbitmq-cells.ts";
import type { ChaosCells } from "./chaos-cell.ts";
import { type CellReport, isFlawless, runCell } from "./run-cell.ts";

const usage = `usage: npm run chaos -- [--group NAME] [--only TEXT] [--seeds 1] [--seed 1] [--json]

  --group NAME  postgres or rabbitmq. Default: both
  --only TEXT  the cells whose names contain it. Default: all
  --seeds N    runs of each cell, of about 20 seconds each. Default: 1
  --seed N     seed of the first run. Default: 1
  --json       print a report per run as JSON

Prints a table of the cells: acknowledged, rejected, lost, applied twice, wrong states, and the longest pauses. Exit code:
1 when a cell is not flawless, 2 for wrong arguments or when PostgreSQL or RabbitMQ is missing.
`;

/** The groups of cells; each starts its own servers. */
const groups: Readonly<Record<string, () => Promise<ChaosCells>>> = {
  postgres: postgresCells,
  rabbitmq: rabbitmqCells,
};

async function main(args: readonly string[]): Promise<number> {
  const options = readArguments(args);
  if (!options) {
    process.stderr.write(usage);
    return 2;
  }
  const names = options.group === undefined ? Object.keys(groups) : [options.group];
  for (const found of [findPostgres(), ...(names.includes("rabbitmq") ? [findRabbitmq()] : [])]) {
    if (!("missing" in found)) continue;
    process.stderr.write(`${found.missing}\n`);
    return 2;
  }
  const rows: Row[] = [];
  for (const name of names) {
    const start = groups[name];
    if (start) rows.push(...(await runGroup(start, options)));
  }
  if (options.json)
    for (const { reports } of rows) for (const report of reports) console.log(JSON.stringify(report));
  else process.stdout.write(table(rows));
  return rows.every(({ flawless }) => flawless) ? 0 : 1;
}

interface Row {
  readonly name: string;
  readonly reports: readonly CellReport[];
  readonly flawless: boolean;
}

async function runGroup(
  start: () => Promise<ChaosCells>,
  { only, seeds, seed }: Options,
): Promise<readonly Row[]> {
  await using group = await start();
  const rows: Row[] = [];
  for (const cell of group.cells.filter(({ name }) => name.includes(only))) {
    const reports: CellReport[] = [];
    for (let run = seed; run < seed + seeds; run++) {
      const report = await runCell(cell, run);
      reports.push(report);
      process.stderr.write(`${cell.name}, seed ${run}: ${JSON.stringify(report)}\n`);
    }
    rows.push({ name: cell.name, reports, flawless: reports.every((report) => isFlawless(report, cell)) });
  }
  return rows;
}

function table(rows: readonly Row[]): string {
  const header = [
    "cell",
    "runs",
    "acknowledged",
    "rejected",
    "lost",
    "twice",
    "wrong",
    "accepts after",
    "handles after",
  ];
  const lines = rows.map(({ name, reports }) => {
    const sum = (field: "acknowledged" | "rejected" | "lost" | "twice" | "wrong") =>
      String(reports.reduce((total, report) => total + report[field], 0));
    const longest = (field: "acceptPauseMs" | "handlePauseMs") =>
      `${(Math.max(...reports.map((report) => report[field])) / 1_000).toFixed(1)} s`;
    const counts = (["acknowledged", "rejected", "lost", "twice", "wrong"] as const).map(sum);
    return [name, String(reports.length), ...counts, longest("acceptPauseMs"), longest("handlePauseMs")];
  });
  return [header, header.map(() => "---"), ...lines].map((cells) => `| ${cells.join(" | ")} |\n`).join("");
}

interface Options {
  readonly group: string | undefined;
  readonly only: string;
  readonly seeds: number;
  readonly seed: number;
  readonly json: boolean;
}

function readArguments(args: readonly string[]): Options | undefined {
  try {
    const text = { type: "string" } as const;
    const { values } = parseArgs({
      args: [...args],
      options: { group: text, only: text, seeds: text, seed: text, json: { type: "boolean" } },
    });
    const [seeds, seed] = [values.seeds ?? "1", values.seed ?? "1"].map(Number);
    if (!Number.isSafeInteger(seeds) || !Number.isSafeInteger(seed) || !seeds || !seed) return undefined;
    if (values.group !== undefined && !Object.hasOwn(groups, values.group)) return undefined;
    return { group: values.group, only: values.only ?? "", seeds, seed, json: values.json === true };
  } catch {
    return undefined; // an unknown option
  }
}

process.exitCode = await main(process.argv.slice(2));
