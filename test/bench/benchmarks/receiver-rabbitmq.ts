import { rabbitmqIntake } from "@workspace-tasks/receiver-rabbitmq";
import { type PostgresDatabase, PostgresServer } from "../../support/postgres.ts";
import { RabbitmqCluster } from "../../support/rabbitmq.ts";
import {
  type Benchmark,
  cellOf,
  type MeasureOptions,
  measuredFor,
  type Result,
  tableOf,
} from "../benchmark.ts";
import { type Delivered, deliver, deliveryRequests } from "../deliver.ts";
import { forkProcess } from "../fork-process.ts";
import { goal, number, spread, times, whole } from "../format.ts";
import { inTurns } from "../in-turns.ts";
import { startMeter } from "../meter.ts";
import { sampleBody, secret } from "../sample-delivery.ts";
import { serverCpuUs } from "../server-cpu.ts";
import { startServer } from "../server-process.ts";
import type { ShardCosts, ShardRequest } from "../shards/shard-process.ts";
import { medianIn, type Rounds, ratioIn, spreadIn } from "../statistics.ts";

const bytes = 700;
const tiers = { "kit-rabbitmq": "the RabbitMQ intake", "kit-postgres": "one PostgreSQL inbox" } as const;
type Tier = keyof typeof tiers;
const shardCounts = [1, 2, 4] as const;

/** CPU time per delivery, in µs. */
interface TierCosts extends ShardCosts {
  readonly accept: number;
  /** Of all RabbitMQ nodes. */
  readonly broker: number;
  /** Of PostgreSQL. */
  readonly database: number;
}
const steps = {
  accept: "accept: from the verified delivery to the acknowledgement",
  store: "store: from the queue to the inbox of its shard",
  handle: "handle, without a transaction",
  broker: "three RabbitMQ nodes together",
  database: "PostgreSQL",
} as const;
type Step = keyof TierCosts;
const stepNames = Object.keys(steps) as Step[];
const kitSteps = stepNames.slice(0, 3);

const goals = {
  http: "one PostgreSQL inbox ÷ RabbitMQ intake, CPU time of the HTTP tier per delivery",
  flat: (step: Step) => `4 shards ÷ 1 shard, CPU time per delivery: ${step}`,
} as const;

export const benchmark: Benchmark = {
  title: "Behind RabbitMQ",
  question: "What does a delivery cost in each tier with RabbitMQ in front of shards?",
  answer: (result) => {
    const cells = kitSteps.map((step) => `${step} ${cellOf(result, steps[step], "1 shard")} µs`);
    return `${cells.join(", ")}; in the HTTP tier, one PostgreSQL inbox costs ${measuredFor(result, goals.http)} as much`;
  },
  about:
    `Deliveries of ${bytes} bytes. First whole requests to a receiver under Express over 64 connections, which acknowledges after the confirm of three RabbitMQ nodes, or after the commit of PostgreSQL. ` +
    "Then each tier alone, with as many deliveries for each shard. Brokers, databases and senders run on the same two cores; µs are CPU time, of the " +
    "Node process unless a row says otherwise.",
  notes: ["The shards are databases of one server, and one process serves all of them, after a warm-up."],
  measure,
};

async function measure({ quick }: MeasureOptions): Promise<Result> {
  await using postgres = await PostgresServer.start();
  await using cluster = await RabbitmqCluster.start(3);
  const servers: Servers = { postgres, cluster };
  const rounds = { rounds: quick ? 1 : 5, warmUpRounds: quick ? 0 : 1 };
  const http = await inTurns(Object.keys(tiers) as Tier[], rounds, (tier, round) =>
    receive(servers, tier, round, quick ? 300 : 3_000),
  );
  const shards = await inTurns(shardCounts, { rounds: quick ? 1 : 3 }, (count, round) =>
    passThrough(servers, count, round, quick ? 200 : 5_000),
  );
  return resultOf(http, shards);
}

interface Servers {
  readonly postgres: PostgresServer;
  readonly cluster: RabbitmqCluster;
}

async function receive({ postgres, cluster }: Servers, tier: Tier, round: number, count: number) {
  await using database = await postgres.database();
  const store = tier === "kit-postgres" ? database.url : `${cluster.urls[0]}#http-${round}`;
  await using server = await startServer("servers/receiver.ts", tier, store);
  const requests = deliveryRequests(`tier${round}`, 3 * count, bytes, Number.POSITIVE_INFINITY);
  await deliver([server], requests.slice(count));
  return await deliver([server], requests.slice(0, count));
}

/** As many deliveries for each shard, whatever their number. */
async function passThrough(
  servers: Servers,
  shards: number,
  round: number,
  perShard: number,
): Promise<TierCosts> {
  const { postgres, cluster } = servers;
  const urls = cluster.urls.slice(0, 1);
  const used = () => ({
    broker: cluster.pids.reduce((sum, pid) => sum + serverCpuUs(pid), 0),
    database: serverCpuUs(postgres.pid),
  });
  await using child = await forkProcess("shards/shard-process.ts", []);
  const pass = async (name: string, count: number, databases: readonly PostgresDatabase[]) => {
    const topology = { urls, name, shards: databases.length };
    const accept = await publish(topology, count);
    const request: ShardRequest = { urls, name, count, databases: databases.map(({ url }) => url) };
    return { accept, ...((await child.request(request)) as ShardCosts) };
  };
  const databases: PostgresDatabase[] = [];
  try {
    for (let shard = 0; shard < shards; shard++) databases.push(await postgres.database());
    await using warmUp = await postgres.database();
    await pass(`warm-up-${shards}-${round}`, perShard, [warmUp]);
    const before = used();
    const count = perShard * shards;
    const costs = await pass(`shards-${shards}-${round}`, count, databases);
    const after = used();
    return {
      ...costs,
      broker: (after.broker - before.broker) / count,
      database: (after.database - before.database) / count,
    };
  } finally {
    for (const database of databases) await database[Symbol.asyncDispose]();
  }
}

/** CPU time per delivery, with 256 in flight. */
async function publish(
  topology: { readonly urls: readonly string[]; readonly name: string; readonly shards: number },
  count: number,
): Promise<number> {
  const logger = { info() {}, warn() {}, error: console.error };
  const intake = rabbitmqIntake({ ...topology, secrets: [secret], logger });
  await intake.start();
  const deliveries = Array.from({ length: count }, (_, index) => ({
    id: `msg_${index}`,
    timestamp: Math.floor(Date.now() / 1_000),
    secretIndex: 0,
    body: sampleBody(bytes, index, count / 5),
  }));
  const queue = deliveries.values();
  const stopMeter = startMeter();
  const publishInTurn = async () => {
    for (const delivery of queue) await intake.accept(delivery);
  };
  await Promise.all(Array.from({ length: 256 }, publishInTurn));
  const { cpuUs } = stopMeter(count);
  await intake.close();
  return cpuUs;
}

function resultOf(http: Rounds<keyof Delivered>, shards: Rounds<Step>): Result {
  const cheaper = ratioIn(http, "kit-rabbitmq", "kit-postgres", "cpuUs");
  return {
    goals: [
      goal(goals.http, "≥ 1 ×", times(cheaper), cheaper.median >= 1),
      ...kitSteps.map((step) => {
        const growth = ratioIn(shards, 1, 4, step);
        return goal(goals.flat(step), "≤ 1.15 ×", times(growth), growth.median <= 1.15);
      }),
    ],
    tables: [
      tableOf(
        ["each tier", ...shardCounts.map((count) => `${count} shard${count > 1 ? "s" : ""}`)],
        stepNames,
        (step) => [steps[step], ...shardCounts.map((count) => spread(spreadIn(shards, count, step)))],
      ),
      tableOf(
        ["HTTP tier, whole request", "µs", "acknowledged per second", "p99"],
        Object.keys(tiers) as Tier[],
        (tier) => [
          tiers[tier],
          spread(spreadIn(http, tier, "cpuUs")),
          whole(1e6 / medianIn(http, tier, "wallUs")),
          `${number(medianIn(http, tier, "p99Ms"))} ms`,
        ],
      ),
    ],
  };
}
