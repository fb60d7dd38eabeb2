import { fileURLToPath } from "node:url";
import { bundledProgram } from "../../../support/bundled-program.ts";
import { healAll } from "../../../support/freezing-proxy.ts";
import { type ChaosCell, type ChaosGroup, type Fault, shared } from "../chaos-cell.ts";
import { nodes, RabbitmqServers, RabbitmqWorld } from "./rabbitmq-world.ts";

const programFile = fileURLToPath(new URL("../rabbitmq-receiver-program.ts", import.meta.url));

interface RabbitmqFault extends Fault<RabbitmqWorld> {
  /** True where the time limits are those of production. */
  readonly hasUsualTimes?: boolean;
}

async function killNodes(world: RabbitmqWorld, killed: readonly number[]) {
  const { cluster } = world.servers;
  await Promise.all(killed.map((index) => cluster.killNode(index)));
  return () => Promise.all(killed.map((index) => cluster.startNode(index)));
}

const others = (leader: number) => nodes.filter((index) => index !== leader);

const nodeFaults: readonly RabbitmqFault[] = [
  {
    name: "RabbitMQ: kill -9 of the queue's leader",
    brokenMs: 2_000,
    inject: async (world) => killNodes(world, [await world.leader()]),
  },
  {
    name: "RabbitMQ: kill -9 of a follower",
    brokenMs: 2_000,
    inject: async (world, random) => killNodes(world, [random.sample(others(await world.leader())) ?? 0]),
  },
  {
    name: "RabbitMQ: kill -9 of two of three nodes",
    brokenMs: 3_000,
    inject: async (world, random) => {
      const leader = await world.leader();
      return killNodes(world, [leader, random.sample(others(leader)) ?? 0]);
    },
  },
  {
    name: "RabbitMQ: loss of a node and its disk",
    brokenMs: 3_000,
    async inject({ servers: { cluster } }, random) {
      const destroyed = random.pick(nodes);
      const survivor = (destroyed + 1) % 3;
      await cluster.destroyNode(destroyed);
      return () => cluster.replaceNode(destroyed, survivor);
    },
  },
  {
    name: "RabbitMQ: SIGSTOP of the queue's leader, which continues",
    brokenMs: 6_000,
    inject: async (world) => world.servers.cluster.freezeNode(await world.leader()),
  },
  {
    name: "RabbitMQ: stop_app of the queue's leader, and start_app",
    brokenMs: 3_000,
    inject: async (world) => world.servers.cluster.stopApplication(await world.leader()),
  },
  {
    name: "RabbitMQ: the queue's leader parted from the other nodes, not from its clients",
    brokenMs: 6_000,
    inject: async (world) => world.servers.cluster.isolateNode(await world.leader()),
  },
  {
    name: "RabbitMQ: memory alarm",
    brokenMs: 1_500,
    async inject({ servers: { cluster } }) {
      const setTo = (share: string) =>
        cluster.evaluate(0, `vm_memory_monitor:set_vm_memory_high_watermark(${share})`);
      await setTo("0.0001");
      return () => setTo("0.4");
    },
  },
  {
    name: "RabbitMQ: full disk",
    brokenMs: 1_500,
    async inject({ servers: { cluster } }) {
      const setTo = (bytes: string) =>
        cluster.evaluate(0, `rabbit_disk_monitor:set_disk_free_limit(${bytes})`);
      await setTo("1000000000000000");
      return () => setTo("50000000");
    },
  },
];

const by = `<<"operator">>`;
const closeConnections = `[rabbit_networking:close_connection(Pid, ${by}) || Pid <- rabbit_networking:connections()]`;
const setPermissions = `rabbit_auth_backend_internal:set_permissions(<<"guest">>, <<"/">>, <<".*">>, <<".*">>, <<".*">>, ${by})`;

/** Breaks something on the cluster by an Erlang expression and repairs it by another, on each node what closes connections. */
const operatorFault = (
  name: string,
  broken: (exchange: string) => string,
  repaired = "ok",
): RabbitmqFault => ({
  name: `RabbitMQ: ${name}`,
  brokenMs: 4_000,
  async inject({ exchange, servers: { cluster } }) {
    await cluster.evaluate(0, broken(exchange));
    for (const node of nodes) await cluster.evaluate(node, closeConnections);
    return () => cluster.evaluate(0, repaired);
  },
});

/** As `operatorFault`, at a moment when no acknowledged delivery is in a queue: what is deleted with it is lost. */
const drainedFault = (...args: Parameters<typeof operatorFault>): RabbitmqFault => {
  const fault = operatorFault(...args);
  return {
    ...fault,
    async inject(world, random) {
      const thaws = [0, 1].map((index) => world.freezeProcess("intake", index));
      await world.drained();
      const repair = await fault.inject(world, random);
      for (const thaw of thaws) thaw();
      return repair;
    },
  };
};

/** What operators do. */
const operatorFaults: readonly RabbitmqFault[] = [
  operatorFault(
    "the exchange of a shard is deleted",
    (exchange) => `rabbit_exchange:delete(rabbit_misc:r(<<"/">>, exchange, <<"${exchange}">>), false, ${by})`,
  ),
  operatorFault(
    "the user's permissions are withdrawn, and its connections closed",
    () => `rabbit_auth_backend_internal:clear_permissions(<<"guest">>, <<"/">>, ${by})`,
    setPermissions,
  ),
  operatorFault(
    "the user is deleted and made again",
    () => `rabbit_auth_backend_internal:delete_user(<<"guest">>, ${by})`,
    `rabbit_auth_backend_internal:add_user(<<"guest">>, <<"guest">>, ${by}), ${setPermissions}`,
  ),
  drainedFault(
    "a queue is deleted",
    (exchange) =>
      `{ok, Queue} = rabbit_amqqueue:lookup(rabbit_misc:r(<<"/">>, queue, <<"${exchange}.p0">>)),
       rabbit_amqqueue:delete(Queue, false, false, ${by})`,
  ),
  drainedFault(
    "the virtual host is deleted and made again",
    () => `rabbit_vhost:delete(<<"/">>, ${by})`,
    `rabbit_vhost:add(<<"/">>, ${by}), ${setPermissions}`,
  ),
];

const processFaults: readonly RabbitmqFault[] = [
  {
    name: "RabbitMQ: kill -9 of a process with an intake",
    brokenMs: 500,
    async inject(world) {
      await world.killProcess("intake", 1);
      return () => world.startProcess("intake", 1);
    },
  },
  {
    name: "RabbitMQ: kill -9 of a process with consumers",
    brokenMs: 500,
    rejectsNothing: true,
    async inject(world, random) {
      const index = random.pick([0, 1]);
      await world.killProcess("consumer", index);
      return () => world.startProcess("consumer", index);
    },
  },
  {
    name: "RabbitMQ: SIGSTOP of a process with an intake, which continues",
    brokenMs: 2_000,
    inject: async (world) => world.freezeProcess("intake", 1),
  },
  {
    name: "RabbitMQ: SIGSTOP of a process with consumers, beyond its leases",
    brokenMs: 4_000,
    rejectsNothing: true,
    inject: async (world, random) => world.freezeProcess("consumer", random.pick([0, 1])),
  },
  {
    name: "RabbitMQ: a silent network for an intake and a consumer",
    brokenMs: 6_000,
    async inject({ proxies }) {
      for (const proxy of proxies) proxy.freezeAll();
      return () => healAll(proxies);
    },
  },
  {
    name: "RabbitMQ: half-open connections of an intake and a consumer",
    brokenMs: 6_000,
    async inject({ proxies }) {
      for (const proxy of proxies) proxy.halfOpenExisting();
      return () => healAll(proxies);
    },
  },
  {
    name: "RabbitMQ: a rolling restart of all processes, with SIGTERM",
    brokenMs: 500,
    async inject(world) {
      for (const role of ["intake", "consumer"] as const)
        for (const index of [0, 1]) await world.restartProcess(role, index);
      return () => {};
    },
  },
  {
    name: "RabbitMQ: the clock of an intake and a consumer is set forward by four minutes, and back",
    brokenMs: 3_000,
    async inject(world) {
      const backs = (["intake", "consumer"] as const).map((role) => world.setClockForward(role, 1));
      return () => {
        for (const setBack of backs) setBack();
      };
    },
  },
  {
    name: "RabbitMQ: PostgreSQL of a shard down",
    brokenMs: 2_000,
    rejectsNothing: true,
    async inject({ servers: { postgres } }) {
      await postgres[1].stopImmediately();
      return () => postgres[1].resume();
    },
  },
];

/** With so long an outage, deliveries arrive slowly. */
function allShardsDown(outageMs: number): RabbitmqFault {
  const isLong = outageMs > 60_000;
  const gapMs = isLong ? 1_000 : 100;
  return {
    name: `RabbitMQ: PostgreSQL of all shards down for ${outageMs / 1_000} s`,
    brokenMs: outageMs,
    rejectsNothing: true,
    hasUsualTimes: isLong,
    // Eight senders, and two events per task.
    load: {
      tasks: Math.ceil((8 / 2) * (outageMs / (gapMs / 2))),
      beforeMs: 1_000,
      afterMs: 1_000,
      gapMs,
      drainTimeoutMs: 60_000 + outageMs,
    },
    async inject({ servers: { postgres } }) {
      for (const server of postgres) await server.stopImmediately();
      return async () => {
        for (const server of postgres) await server.resume();
      };
    },
  };
}

export function rabbitmqGroup(outageMs: number): ChaosGroup {
  const servers = shared(() => RabbitmqServers.start());
  let worlds = 0;
  const cellOf = ({ hasUsualTimes = false, ...fault }: RabbitmqFault): ChaosCell<RabbitmqWorld> => ({
    ...fault,
    async start() {
      worlds += 1;
      const program = await bundledProgram(programFile);
      return RabbitmqWorld.start(await servers.get(), { program, hasUsualTimes, name: `chaos-${worlds}` });
    },
  });
  return {
    cells: [...nodeFaults, ...operatorFaults, ...processFaults, allShardsDown(outageMs)].map(cellOf),
    [Symbol.asyncDispose]: servers[Symbol.asyncDispose],
  };
}
