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
  { kind: "bare", words: "Express reads the body and answers, nothing else" },
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
/** Measured with small deliveries only: a large one is not handled differently. */
const isHandled = (kind: Kind) => kind.endsWith("handled");

/**
 * Each turn starts with requests that are not measured, as many as it takes until a request costs no less than the one
 * before, and goes on without a pause: in two idle seconds a virtual machine gives free memory back to its host, and
 * taking it again is dear. A busy receiver, which is what is measured, never lets go of it.
 */
type Size = {
  readonly label: string;
  readonly bytes: number;
  readonly toWarmUp: number;
  readonly requests: number;
};
const sizes: readonly Size[] = [
  { label: "1 KB", bytes: 1_024, toWarmUp: 12_000, requests: 5_000 },
  { label: "64 KB", bytes: 65_536, toWarmUp: 4_000, requests: 1_000 },
  { label: "1 MB", bytes: 1_048_576, toWarmUp: 192, requests: 96 },
];

type Round = Sample & { readonly perSecond: number; readonly p99Ms: number };
type Rounds = ReadonlyMap<Kind, readonly Round[]>;

export const measure: Measure = async ({ quick }) => {
  await using postgres = await PostgresServer.start();
  const rounds = new Map<string, Rounds>();
  for (const size of sizes) {
    const requests = quick ? Math.ceil(size.requests / 10) : size.requests;
    const toWarmUp = quick ? 0 : size.toWarmUp;
    rounds.set(size.label, await measureSize({ ...size, toWarmUp, requests }, quick ? 2 : 5, postgres));
  }
  return finding(rounds);
};

async function measureSize(size: Size, rounds: number, postgres: PostgresServer): Promise<Rounds> {
  const taken = kinds.map(({ kind }) => kind).filter((kind) => !isHandled(kind) || size.bytes <= 1_024);
  const measured = new Map<Kind, Round[]>(taken.map((kind) => [kind, []]));
  for (let round = 0; round < rounds; round++) {
    for (const kind of round % 2 === 0 ? taken : taken.toReversed()) {
      measured.get(kind)?.push(await turn(kind, size, postgres));
    }
  }
  return measured;
}

/** One receiver with a store of its own, from its start. */
async function turn(
  kind: Kind,
  { bytes, toWarmUp, requests }: Size,
  postgres: PostgresServer,
): Promise<Round> {
  const folder = mkdtempSync(join(tmpdir(), "workspace-tasks-receive-"));
  try {
    await using database = await postgres.database();
    const store = kind.includes("postgres") ? database.url : join(folder, "inbox.db");
    const unmeasured = deliveries(bytes, toWarmUp, "early");
    const counted = deliveries(bytes, requests, "counted");
    await using server = await ServerProcess.start("servers/receiver.ts", [kind, store]);
    await take(server, unmeasured, isHandled(kind));
    return await take(server, counted, isHandled(kind));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function deliveries(bytes: number, count: number, name: string): readonly Buffer[] {
  return Array.from({ length: count }, (_, index) => {
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
  const ceiling = (kind: Kind) => ratioOf(of("1 KB"), "bare", kind, "wallUs");
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
      "64 KB: hand-rolled without a store ÷ this kit on PostgreSQL",
      1.7,
      ratioOf(of("64 KB"), "kit-postgres", baseline),
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
      `A whole request over ${connections} keep-alive connections to a receiver under Express in a process of its own, which has been busy for a while. ` +
      "µs of processor time per request, beside them how many times as much that is as what this kit takes on SQLite; then " +
      "requests per second on the wall and the 99th percentile of the time to the answer, both of a machine that also " +
      "runs the sender and the database.",
    goals,
    tables: [...all].map(([label, rounds]) => ({
      columns: [label, "µs", "÷ this kit on SQLite", "requests/s", "p99, ms"],
      rows: kinds
        .filter(({ kind }) => rounds.has(kind))
        .map(({ kind, words }) => [
          words,
          number(medianOf(rounds, kind)),
          times(ratioOf(rounds, "kit-sqlite", kind)),
          whole(spreadOf((rounds.get(kind) ?? []).map(({ perSecond }) => perSecond)).median),
          number(spreadOf((rounds.get(kind) ?? []).map(({ p99Ms }) => p99Ms)).median),
        ]),
    })),
    notes: [
      `The first row is what no receiver under Express can go below. It answers ${times(ceiling("hand-rolled-sqlite"))} the requests per second of one INSERT per request on SQLite, and ${times(ceiling("hand-rolled-postgres"))} those on PostgreSQL: on this disk, which makes a commit durable in a fifth of a millisecond, nothing behind Express can be five times as fast as either. [With a slower disk](#receiving-by-how-fast-the-disk-is) it is another matter.`,
      "On PostgreSQL the plain INSERT uses eight connections, whose commits the server itself writes together, and both cores; this kit commits larger batches, at most two at a time, and takes less processor time for it, on both sides: in one run the server used 67 µs per delivery where the plain INSERT used 100.",
      "At 1 KB the two are as dear as each other: two runs of this comparison, minutes apart, gave 1.14 and 0.93. At 64 KB they gave 1.56 and 1.63 for SQLite. The rows show where that goes: of some 450 µs Express's reading and answering takes 170, verifying and reading the JSON 160, SQLite 120, which writes each body twice, first to its log and later to the file. Measuring goes on without pauses: after each pause of two seconds a request of this kit on SQLite cost half as much again, because memory that a virtual machine gave back to its host has to be taken anew.",
      "At 1 MB a profile of this kit on SQLite (5.2 ms per request on a quiet machine) says: JSON 25 % (decoding 11, parsing 14), SQLite 24 % (writing 13, syncing 5, reading its log back 4), HMAC 11 %, the collector's threads 21 %, the rest reads and copies. What touches new memory is dear here: the first write to a page of 4 KB took 2 to 4 µs on this virtual machine, so that each copy of 1 MB costs half a millisecond or more. Reading under Express, HMAC and SQLite alone come to about a third of the hand-rolled request; three times cheaper would leave nothing for reading the JSON.",
      "The first row of this kit answers with Express's `sendStatus`, one request at a time; the others write many answers at once, when their common commit is done, and a write that wakes the sender by itself costs two to three times as much. That is why storing a small delivery can cost less than only verifying it.",
    ],
  };
}
