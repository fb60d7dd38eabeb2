import { join } from "node:path";
import { PostgresServer } from "../../support/postgres.ts";
import { withFolder } from "../../support/with-folder.ts";
import { type Benchmark, cellOf, type MeasureOptions, type Result } from "../benchmark.ts";
import { type Delivered, deliver, deliveryRequests } from "../deliver.ts";
import { atLeast, atMost, number, times, whole } from "../format.ts";
import { inTurns } from "../in-turns.ts";
import { startServer } from "../server-process.ts";
import { medianIn, type Rounds, ratioIn } from "../statistics.ts";

const receivers = {
  bare: "Express reads the body and responds, nothing else",
  "kit-verify": "this kit, verified only",
  "kit-sqlite": "this kit, durable on SQLite",
  "kit-sqlite-handled": "this kit, durable on SQLite, ordered and handled",
  "kit-postgres": "this kit, durable on PostgreSQL",
  "kit-postgres-handled": "this kit, durable on PostgreSQL, ordered and handled",
  "least-sqlite": "Express, one hash, id and body on SQLite, shared commits",
  "least-postgres": "Express, one hash, id and body on PostgreSQL, shared commits",
  "hand-rolled": "Express + standardwebhooks, no store",
  "hand-rolled-sqlite": "Express + standardwebhooks, one INSERT on SQLite",
  "hand-rolled-postgres": "Express + standardwebhooks, one INSERT on PostgreSQL",
} as const;
type Kind = keyof typeof receivers;
const kinds = Object.keys(receivers) as Kind[];
/** Measured with small deliveries only: the size makes no difference to handling. */
const isHandled = (kind: Kind) => kind.endsWith("handled");

/**
 * Each turn starts with `warmUp` requests, as many as it takes until a request costs no less than the one before. The
 * measured requests follow without a pause: in two idle seconds a virtual machine returns free memory to its host, and
 * allocating it again is expensive. A busy receiver, which is what is measured, keeps its memory.
 */
interface Size {
  readonly label: string;
  readonly bytes: number;
  readonly warmUp: number;
  readonly requests: number;
}

const sizes: readonly Size[] = [
  { label: "1 KB", bytes: 1_024, warmUp: 12_000, requests: 5_000 },
  { label: "64 KB", bytes: 65_536, warmUp: 4_000, requests: 1_000 },
  { label: "1 MB", bytes: 1_048_576, warmUp: 192, requests: 96 },
];

export const benchmark: Benchmark = {
  title: "Receiving a delivery",
  question: "What does receiving a delivery of 1 KB cost, until its row is durable on SQLite?",
  answer: (result) =>
    `${cellOf(result, receivers["kit-sqlite"], "µs")} µs, ${cellOf(result, receivers["kit-sqlite"], "requests/s")} requests per second; Express + standardwebhooks without a store takes ${cellOf(result, receivers["hand-rolled"], "÷ this kit on SQLite")}`,
  about:
    "Whole requests over 64 keep-alive connections to a receiver under Express in its own process. µs of CPU time per request, the ratio to this " +
    "kit on SQLite, requests per second of wall time and the 99th percentile of the response time, on a machine that also runs the sender and " +
    "the database.",
  notes: [
    "The first row is the lower bound under Express, and the rows of one hash, id and body are the lower bound with a store: they verify, ignore duplicates and are durable, but their rows can be neither claimed nor ordered. On this disk, with 0.2 ms per commit, nothing behind Express can be five times as fast as one INSERT per request.",
    "Where the time goes at 1 KB on SQLite (sampled on a faster machine, 155 µs; Express alone 90): HTTP, Express and sockets 57, garbage collection 26 (Express alone 18), SQLite with its driver and the writes to its files 41, compilation 3, and 28 for the kit itself: reading and checking the request, HMAC, JSON, the columns of the row, the wait for the commit. A row takes four statements and entries in three indexes where the lower bound takes one of each. To come closer to it, rows would have to enter the queue in bulk when they are claimed instead of one by one when they are stored.",
    "Handling adds 106 µs on SQLite and 33 on PostgreSQL: a live receiver claims a few rows at a time, so a claim is shared by few. A [backlog](#draining-a-backlog) costs less per event.",
    "Storing can cost less than only verifying: the kit writes the responses of a common commit at once, the verified-only receiver one at a time.",
  ],
  measure,
};

async function measure({ quick }: MeasureOptions): Promise<Result> {
  await using postgres = await PostgresServer.start();
  const measured = new Map<string, Rounds<keyof Delivered>>();
  for (const size of sizes) {
    const requests = quick ? Math.ceil(size.requests / 10) : size.requests;
    const warmUp = quick ? 0 : size.warmUp;
    const measurable = kinds.filter((kind) => !isHandled(kind) || size.bytes <= 1_024);
    const rounds = await inTurns(measurable, { rounds: quick ? 2 : 5 }, (kind) =>
      receive(kind, { ...size, warmUp, requests }, postgres),
    );
    measured.set(size.label, rounds);
  }
  return resultOf(measured);
}

/** A new receiver with its own store. */
function receive(kind: Kind, size: Size, postgres: PostgresServer): Promise<Delivered> {
  return withFolder(async (folder) => {
    await using database = await postgres.database();
    const store = kind.includes("postgres") ? database.url : join(folder, "inbox.db");
    const warmUp = deliveryRequests("warm-up", size.warmUp, size.bytes);
    const requests = deliveryRequests("measured", size.requests, size.bytes);
    await using server = await startServer("servers/receiver.ts", kind, store);
    await deliver([server], warmUp, { untilHandled: isHandled(kind) });
    return await deliver([server], requests, { untilHandled: isHandled(kind) });
  });
}

function resultOf(measured: ReadonlyMap<string, Rounds<keyof Delivered>>): Result {
  const ratio = (size: string, ours: Kind, other: Kind, field: keyof Delivered = "cpuUs") =>
    ratioIn(measured.get(size) ?? new Map(), ours, other, field);
  const overKit = (size: string, ours: Kind, store: string, target: number) =>
    atLeast(
      `${size}: hand-rolled without a store ÷ this kit on ${store}`,
      target,
      ratio(size, ours, "hand-rolled"),
    );
  const overBare = (what: string, ours: Kind, target: number) =>
    atMost(
      `1 KB, ${what}: CPU time ÷ that of Express that only responds`,
      target,
      ratio("1 KB", "bare", ours),
      "×",
    );
  const ofBare = (ours: Kind, store: string, target: number) =>
    atLeast(
      `1 KB: throughput ÷ that of Express that only responds, ${store}`,
      target,
      ratio("1 KB", ours, "bare", "wallUs"),
    );
  return {
    goals: [
      overBare("durable on SQLite", "kit-sqlite", 1.4),
      overBare("durable on PostgreSQL", "kit-postgres", 1.5),
      overBare("durable on SQLite, ordered and handled", "kit-sqlite-handled", 2.2),
      overBare("durable on PostgreSQL, ordered and handled", "kit-postgres-handled", 2.2),
      overKit("1 KB", "kit-sqlite", "SQLite", 1),
      overKit("64 KB", "kit-sqlite", "SQLite", 1.7),
      overKit("64 KB", "kit-postgres", "PostgreSQL", 1.7),
      atMost(
        "1 MB, durable on SQLite: CPU time ÷ that of verifying it",
        1.5,
        ratio("1 MB", "kit-verify", "kit-sqlite"),
        "×",
      ),
      ofBare("kit-sqlite", "SQLite", 0.5),
      ofBare("kit-postgres", "PostgreSQL", 0.4),
    ],
    tables: [
      ...[...measured].map(([label, rounds]) => ({
        columns: [label, "µs", "÷ this kit on SQLite", "requests/s", "p99, ms"],
        rows: kinds
          .filter((kind) => rounds.has(kind))
          .map((kind) => [
            receivers[kind],
            number(medianIn(rounds, kind, "cpuUs")),
            times(ratio(label, "kit-sqlite", kind)),
            whole(1e6 / medianIn(rounds, kind, "wallUs")),
            number(medianIn(rounds, kind, "p99Ms")),
          ]),
      })),
      {
        columns: ["1 KB", "throughput of the first row ÷ that of one INSERT per request"],
        rows: [
          ["SQLite", times(ratio("1 KB", "bare", "hand-rolled-sqlite", "wallUs"))],
          ["PostgreSQL", times(ratio("1 KB", "bare", "hand-rolled-postgres", "wallUs"))],
        ],
      },
    ],
  };
}
