import { PostgresServer } from "../../test/support/postgres.ts";
import { type Benchmark, cellOf, type MeasureOptions, type Result, tableOf } from "../benchmark.ts";
import { type Delivered, deliver, deliveryRequests } from "../deliver.ts";
import { spread } from "../format.ts";
import { inTurns } from "../in-turns.ts";
import { type ServerProcess, startServer } from "../server-process.ts";
import { spreadOf } from "../statistics.ts";

const processCounts = [1, 2, 4];

export const benchmark: Benchmark = {
  title: "Growth: receiver processes",
  question: "How many deliveries per second do 1, 2 and 4 processes handle on one PostgreSQL inbox?",
  answer: (result) =>
    `${processCounts.map((count) => cellOf(result, String(count), "handled per second")).join(", ")}; the two cores also run the database and the sender`,
  about:
    "Receiver processes with one inbox on PostgreSQL, each behind Express with 64 connections: deliveries of 1 KB, verified, stored, ordered and " +
    "handled. Deliveries per second of wall time until the last one is handled, and CPU time of all receiver processes per delivery.",
  notes: [
    "The two cores also run the database and the sender, so more processes cannot increase the throughput; this shows what sharing costs.",
  ],
  measure,
};

async function measure({ quick }: MeasureOptions): Promise<Result> {
  await using postgres = await PostgresServer.start();
  const measured = new Map<number, readonly Delivered[]>();
  for (const processes of processCounts) {
    measured.set(processes, await measureProcesses(postgres, processes, quick));
  }
  const perSecond = (processes: number) =>
    spreadOf((measured.get(processes) ?? []).map(({ handledUs }) => 1e6 / handledUs));
  const cpuUs = (processes: number) => spreadOf((measured.get(processes) ?? []).map(({ cpuUs }) => cpuUs));
  return {
    goals: [],
    tables: [
      tableOf(["processes", "handled per second", "µs per delivery"], processCounts, (each) => [
        String(each),
        spread(perSecond(each)),
        spread(cpuUs(each)),
      ]),
    ],
    plots: [
      {
        name: "processes",
        title: "Receiver processes on one PostgreSQL inbox",
        x: "processes",
        y: "deliveries handled per second",
        series: [
          { name: "all processes", points: processCounts.map((each) => [each, perSecond(each).median]) },
        ],
      },
    ],
  };
}

async function measureProcesses(
  postgres: PostgresServer,
  processes: number,
  quick: boolean,
): Promise<readonly Delivered[]> {
  await using database = await postgres.database();
  const servers: ServerProcess[] = [];
  try {
    while (servers.length < processes) {
      servers.push(await startServer("servers/receiver.ts", "kit-postgres-handled", database.url));
    }
    const rounds = await inTurns([servers], { rounds: quick ? 1 : 5, warmUpRounds: 1 }, (_, round) =>
      deliver(servers, deliveryRequests(`${round}`, quick ? 400 : 4_000, 1_024), { untilHandled: true }),
    );
    return rounds.get(servers) ?? [];
  } finally {
    for (const server of servers) await server[Symbol.asyncDispose]();
  }
}
