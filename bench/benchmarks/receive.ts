import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PostgresServer } from "../../test/support/postgres.ts";
import type { Goal, Measure } from "../finding.ts";
import { httpRequest, type LoadResult, percentile, sendAll } from "../load.ts";
import { sampleBody, signDelivery } from "../sample-delivery.ts";
import { medianOf, ratioOf, type Sample, spreadOf } from "../samples.ts";
import { ServerProcess } from "../server-process.ts";
import { atLeast, number, times, whole } from "../words.ts";

const connections = 64;
const baseline = "hand-rolled";
const kinds = [
  { kind: "kit-verify", words: "this kit, verified only" },
  { kind: "kit-sqlite", words: "this kit, durable on SQLite" },
  { kind: "kit-sqlite-handled", words: "the same, ordered and handled too" },
  { kind: "kit-postgres", words: "this kit, durable on PostgreSQL" },
  { kind: "kit-postgres-handled", words: "the same, ordered and handled too" },
  { kind: "hand-rolled", words: "Express + standardwebhooks, no store" },
  { kind: "hand-rolled-sqlite", words: "the same + one INSERT on SQLite" },
  { kind: "hand-rolled-postgres", words: "the same + one INSERT on PostgreSQL" },
] as const;
type Kind = (typeof kinds)[number]["kind"];

type Size = { readonly label: string; readonly bytes: number; readonly requests: number };
const sizes: readonly Size[] = [
  { label: "1 KB", bytes: 1_024, requests: 2_000 },
  { label: "64 KB", bytes: 65_536, requests: 256 },
  { label: "1 MB", bytes: 1_048_576, requests: 32 },
];

type Round = Sample & { readonly perSecond: number; readonly p99Ms: number };
type Rounds = ReadonlyMap<Kind, readonly Round[]>;

export const measure: Measure = async ({ quick }) => {
  const folder = mkdtempSync(join(tmpdir(), "workspace-tasks-receive-"));
  await using postgres = await PostgresServer.start();
  try {
    const rounds = new Map<string, Rounds>();
    for (const size of sizes) {
      const requests = quick ? Math.ceil(size.requests / 10) : size.requests;
      rounds.set(
        size.label,
        await measureSize({ ...size, requests }, quick ? 2 : 5, (kind) =>
          kind.includes("postgres") ? postgres.url() : join(folder, `${kind}-${size.label}.db`),
        ),
      );
    }
    return finding(rounds);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
};

async function measureSize(size: Size, rounds: number, storeOf: (kind: Kind) => string): Promise<Rounds> {
  const measured = new Map<Kind, Round[]>(kinds.map(({ kind }) => [kind, []]));
  const servers = new Map<Kind, ServerProcess>();
  try {
    for (const { kind } of kinds) {
      servers.set(kind, await ServerProcess.start("servers/receiver.ts", [kind, storeOf(kind)]));
    }
    let sent = 0;
    // The first round warms up.
    for (let round = 0; round <= rounds; round++) {
      for (const [kind, server] of servers) {
        const requests = deliveries(size, `${size.bytes}_${sent++}`);
        const result = await take(server, requests, kind.endsWith("handled"));
        if (round > 0) measured.get(kind)?.push(result);
      }
    }
  } finally {
    for (const server of servers.values()) await server[Symbol.asyncDispose]();
  }
  return measured;
}

function deliveries({ bytes, requests }: Size, name: string): readonly Buffer[] {
  return Array.from({ length: requests }, (_, index) => {
    const { headers, body } = signDelivery(`msg_${name}_${index}`, sampleBody(bytes, index));
    return httpRequest("/webhooks", headers, body);
  });
}

async function take(
  server: ServerProcess,
  requests: readonly Buffer[],
  untilHandled: boolean,
): Promise<Round> {
  const countBefore = untilHandled ? await server.count() : 0;
  const cpuBefore = await server.cpuUs();
  const { wallMs, latenciesMs }: LoadResult = await sendAll(server.port, requests, connections);
  while (untilHandled && (await server.count()) < countBefore + requests.length) await tick();
  const cpuUs = ((await server.cpuUs()) - cpuBefore) / requests.length;
  return {
    cpuUs,
    wallUs: (wallMs * 1_000) / requests.length,
    perSecond: (requests.length / wallMs) * 1_000,
    p99Ms: percentile(latenciesMs, 0.99),
  };
}

const tick = () => new Promise((resolve) => setTimeout(resolve, 5));

function finding(all: ReadonlyMap<string, Rounds>) {
  const of = (label: string) => all.get(label) ?? new Map();
  const goals: Goal[] = [
    atLeast(
      "1 KB: hand-rolled without a store ÷ this kit on SQLite",
      1,
      ratioOf(of("1 KB"), "kit-sqlite", baseline),
    ),
    atLeast(
      "64 KB: hand-rolled without a store ÷ this kit on SQLite",
      1.7,
      ratioOf(of("64 KB"), "kit-sqlite", baseline),
    ),
    atLeast(
      "1 MB: hand-rolled without a store ÷ this kit on SQLite",
      3,
      ratioOf(of("1 MB"), "kit-sqlite", baseline),
    ),
    atLeast(
      "1 KB: throughput ÷ that of one INSERT per request, SQLite",
      5,
      ratioOf(of("1 KB"), "kit-sqlite", "hand-rolled-sqlite", "wallUs"),
    ),
    atLeast(
      "1 KB: throughput ÷ that of one INSERT per request, PostgreSQL",
      5,
      ratioOf(of("1 KB"), "kit-postgres", "hand-rolled-postgres", "wallUs"),
    ),
  ];
  return {
    title: "Receiving a delivery",
    about:
      `A whole request over ${connections} keep-alive connections to a receiver under Express in a process of its own. ` +
      "µs of processor time per request, beside them how many times as much that is as what this kit takes on SQLite; then " +
      "requests per second on the wall and the 99th percentile of the time to the answer, both of a machine that also " +
      "runs the sender and the database.",
    goals,
    tables: [...all].map(([label, rounds]) => ({
      columns: [label, "µs", "÷ this kit on SQLite", "requests/s", "p99, ms"],
      rows: kinds.map(({ kind, words }) => [
        words,
        number(medianOf(rounds, kind)),
        times(ratioOf(rounds, "kit-sqlite", kind)),
        whole(spreadOf((rounds.get(kind) ?? []).map(({ perSecond }) => perSecond)).median),
        number(spreadOf((rounds.get(kind) ?? []).map(({ p99Ms }) => p99Ms)).median),
      ]),
    })),
    notes: [
      "The first row answers with Express's `sendStatus`, the others of this kit write the answer themselves, which is why storing a small delivery can cost less than only verifying it.",
      "At 64 KB and 1 MB more than half of the cost is there without the inbox too (first row). What makes up the rest was not profiled; SQLite writes each body twice, first to its log and later to the file.",
      "The gain of writing together is that of waiting together for the disk. Why it is small here was not isolated; a disk that syncs quickly and a sender on the same two cores would both make it so. On PostgreSQL the plain INSERT even has the higher throughput here: eight connections write at once, while this kit commits larger batches, two at a time; it takes less processor time of the receiver for it. Processor time on the database's side is not counted.",
    ],
  };
}
