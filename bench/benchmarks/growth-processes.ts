import { PostgresServer } from "../../test/support/postgres.ts";
import type { Measure } from "../finding.ts";
import { httpRequest, sendAll } from "../load.ts";
import { sampleBody, signDelivery } from "../sample-delivery.ts";
import { spreadOf } from "../samples.ts";
import { ServerProcess } from "../server-process.ts";
import { spread } from "../words.ts";

const processCounts = [1, 2, 4];

type Round = { readonly perSecond: number; readonly cpuUs: number };

export const measure: Measure = async ({ quick }) => {
  const count = quick ? 400 : 4_000;
  const rounds = new Map<number, Round[]>(processCounts.map((processes) => [processes, []]));
  await using postgres = await PostgresServer.start();
  for (const processes of processCounts) {
    await using database = await postgres.database();
    const servers: ServerProcess[] = [];
    try {
      for (let started = 0; started < processes; started++) {
        servers.push(
          await ServerProcess.start("servers/receiver.ts", ["kit-postgres-handled", database.url]),
        );
      }
      for (let round = -1; round < (quick ? 1 : 5); round++) {
        const result = await take(servers, count, `${processes}_${round}`);
        if (round >= 0) rounds.get(processes)?.push(result);
      }
    } finally {
      for (const server of servers) await server[Symbol.asyncDispose]();
    }
  }
  const of = (processes: number, field: keyof Round) =>
    spreadOf((rounds.get(processes) ?? []).map((round) => round[field]));
  return {
    title: "Growth: receiver processes",
    about:
      "Receiver processes that share one inbox on PostgreSQL, each behind Express with 64 connections of its own: deliveries of 1 KB, verified, stored, ordered " +
      "and handled. Deliveries per second of the wall until the last is handled, and µs of processor time of all receiver processes per delivery.",
    goals: [],
    tables: [
      {
        columns: ["processes", "handled per second", "µs per delivery"],
        rows: processCounts.map((processes) => [
          String(processes),
          spread(of(processes, "perSecond")),
          spread(of(processes, "cpuUs")),
        ]),
      },
    ],
    plots: [
      {
        name: "processes",
        title: "Receiver processes on one PostgreSQL inbox",
        x: "processes",
        y: "deliveries handled per second",
        series: [
          {
            name: "all processes",
            points: processCounts.map((each) => [each, of(each, "perSecond").median]),
          },
        ],
      },
    ],
    notes: [
      "The machine has two cores, which also run the database and the sender, so that more processes cannot bring more here; what the measurement shows is what sharing costs. With more processes, fewer deliveries come together in one commit and several workers look for the same due rows.",
      "Runs differ more than their rounds: half an hour before, four processes handled 3,081 per second. Why is not known.",
    ],
  };
};

async function take(servers: readonly ServerProcess[], count: number, name: string): Promise<Round> {
  const share = Math.ceil(count / servers.length);
  const requests = servers.map((_, server) =>
    Array.from({ length: share }, (_, index) => {
      const { headers, body } = signDelivery(
        `msg_${name}_${server}_${index}`,
        sampleBody(1_024, index * servers.length + server),
      );
      return httpRequest("/webhooks", headers, body);
    }),
  );
  const counted = async () => sum(await Promise.all(servers.map((server) => server.count())));
  const used = async () => sum(await Promise.all(servers.map((server) => server.cpuUs())));
  const countBefore = await counted();
  const cpuBefore = await used();
  const startedAt = performance.now();
  await Promise.all(servers.map(({ port }, index) => sendAll(port, requests[index] ?? [], 64)));
  const all = share * servers.length;
  while ((await counted()) < countBefore + all) await new Promise((resolve) => setTimeout(resolve, 5));
  const seconds = (performance.now() - startedAt) / 1_000;
  return { perSecond: all / seconds, cpuUs: ((await used()) - cpuBefore) / all };
}

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
