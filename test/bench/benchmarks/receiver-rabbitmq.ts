import { rabbitmqIntake } from "@workspace-tasks/receiver-rabbitmq";
import { PostgresServer } from "../../support/postgres.ts";
import { RabbitmqCluster } from "../../support/rabbitmq.ts";
import {
  atLeast,
  type Benchmark,
  cellOf,
  type MeasureOptions,
  measuredFor,
  number,
  type Result,
  spread,
  tableOf,
  whole,
} from "../benchmark.ts";
import { type Delivered, deliver, deliveryRequests } from "../deliver.ts";
import { startMeter } from "../meter.ts";
import { forkProcess, startServer } from "../processes.ts";
import { sampleBody, secret } from "../sample-delivery.ts";
import { serverCpuUs } from "../server-cpu.ts";
import type { ShardCosts, ShardRequest } from "../shard-process.ts";
import { inTurns, medianIn, type Rounds, ratioIn, spreadIn } from "../statistics.ts";

const bytes = 700;
const tiers = { "kit-rabbitmq": "the RabbitMQ intake", "kit-postgres": "one PostgreSQL inbox" } as const;
type Tier = keyof typeof tiers;

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
  store: "store: from the queue to the inbox",
  handle: "handle, without a transaction",
  broker: "three RabbitMQ nodes together",
  database: "PostgreSQL",
} as const;
type Step = keyof TierCosts;
const stepNames = Object.keys(steps) as Step[];
const kitSteps = stepNames.slice(0, 3);

const httpGoal = "one PostgreSQL inbox ÷ RabbitMQ intake, CPU time of the HTTP tier per delivery";

export const benchmark: Benchmark = {
  title: "Behind RabbitMQ",
  question: "What does a delivery cost in each tier with RabbitMQ in front of PostgreSQL?",
  answer: (result) => {
    const cells = kitSteps.map((step) => `${step} ${cellOf(result, steps[step], "µs")} µs`);
    return `${cells.join(", ")}; in the HTTP tier, one PostgreSQL inbox costs ${measuredFor(result, httpGoal)} as much`;
  },
  about:
    `Deliveries of ${bytes} bytes. First whole requests to a receiver under Express over 64 connections, which acknowledges after the confirm of three RabbitMQ nodes, or after the commit of PostgreSQL. ` +
    "Then each tier alone, with one shard. Brokers, databases and senders run on the same two cores; µs are CPU time, of the " +
    "Node process unless a row says otherwise.",
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
  const alone = await inTurns(["steps"], { rounds: quick ? 1 : 3 }, (_, round) =>
    passThrough(servers, round, quick ? 200 : 5_000),
  );
  return resultOf(http, alone);
}

interface Servers {
  readonly postgres: PostgresServer;
  readonly cluster: RabbitmqCluster;
}

async function receive({ postgres, cluster }: Servers, tier: Tier, round: number, count: number) {
  await using database = await postgres.database();
  const store = tier === "kit-postgres" ? database.url : `${cluster.urls[0]}#http-${round}`;
  await using server = await startServer("servers/receiver.ts", tier, store);
  const requests = deliveryRequests(`tier${round}`, 3 * count, bytes);
  await deliver([server], requests.slice(count));
  return await deliver([server], requests.slice(0, count));
}

async function passThrough({ postgres, cluster }: Servers, round: number, count: number): Promise<TierCosts> {
  const urls = cluster.urls.slice(0, 1);
  const used = () => ({
    broker: cluster.pids.reduce((sum, pid) => sum + serverCpuUs(pid), 0),
    database: serverCpuUs(postgres.pid),
  });
  await using child = await forkProcess("shard-process.ts", []);
  const pass = async (name: string) => {
    await using database = await postgres.database();
    const accept = await publish({ urls, name, shards: 1 }, count);
    const request: ShardRequest = { urls, name, count, database: database.url };
    return { accept, ...((await child.request(request)) as ShardCosts) };
  };
  await pass(`warm-up-${round}`);
  const before = used();
  const costs = await pass(`measured-${round}`);
  const after = used();
  return {
    ...costs,
    broker: (after.broker - before.broker) / count,
    database: (after.database - before.database) / count,
  };
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

function resultOf(http: Rounds<keyof Delivered>, rounds: Rounds<Step>): Result {
  return {
    goals: [atLeast(httpGoal, 1, ratioIn(http, "kit-rabbitmq", "kit-postgres", "cpuUs"))],
    tables: [
      tableOf(["each tier", "µs"], stepNames, (step) => [
        steps[step],
        spread(spreadIn(rounds, "steps", step)),
      ]),
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
