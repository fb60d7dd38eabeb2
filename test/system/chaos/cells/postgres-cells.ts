import { healAll } from "../../../support/freezing-proxy.ts";
import type { ChaosGroup, Fault } from "../chaos-cell.ts";
import { PostgresWorld } from "./postgres-world.ts";

interface PostgresFault extends Fault<PostgresWorld> {
  /** Of the first primary's disk, where it is to be small. */
  readonly diskBytes?: number;
}

const postgresFaults: readonly PostgresFault[] = [
  {
    name: "PostgreSQL: kill -9 of the primary and loss of its disk; it rejoins empty",
    brokenMs: 1_500,
    async inject({ cluster }) {
      const lost = cluster.primary;
      await lost.lose();
      return async () => {
        await cluster.promote();
        await cluster.rejoin(lost);
      };
    },
  },
  {
    name: "PostgreSQL: kill -9 of a standby and loss of its disk; it rejoins empty",
    brokenMs: 1_000,
    rejectsNothing: true,
    async inject({ cluster }, random) {
      const lost = random.sample(cluster.standbys);
      await lost?.lose();
      return async () => {
        if (lost) await cluster.rejoin(lost);
      };
    },
  },
  {
    name: "PostgreSQL: immediate stop of the primary, which starts again",
    brokenMs: 1_000,
    async inject({ cluster }) {
      await cluster.primary.stopImmediately();
      return () => cluster.primary.resume();
    },
  },
  {
    name: "PostgreSQL: immediate stop of both standbys, which start again",
    brokenMs: 1_500,
    async inject({ cluster }) {
      for (const standby of cluster.standbys) await standby.stopImmediately();
      return async () => {
        for (const standby of cluster.standbys) await standby.resume();
        await cluster.untilReplicated();
      };
    },
  },
  {
    name: "PostgreSQL: a silent network between the primary and a standby",
    brokenMs: 2_000,
    rejectsNothing: true,
    inject: async ({ cluster }, random) => cluster.cut([random.sample(cluster.standbys) ?? cluster.primary]),
  },
  {
    name: "PostgreSQL: a silent network between the primary and both standbys",
    brokenMs: 2_000,
    inject: async ({ cluster }) => cluster.cut(cluster.standbys),
  },
  {
    name: "PostgreSQL: a primary without its standbys continues beside its successor, and rejoins",
    brokenMs: 1_500,
    async inject({ cluster }) {
      const former = cluster.primary;
      const heal = cluster.cut(cluster.standbys);
      await cluster.promote();
      heal();
      return async () => {
        await former.stopImmediately();
        await cluster.rejoin(former);
      };
    },
  },
  {
    name: "PostgreSQL: SIGSTOP of the primary, which continues",
    brokenMs: 2_000,
    inject: async ({ cluster }) => cluster.primary.freeze(),
  },
  {
    name: "PostgreSQL: SIGSTOP of the primary, which continues beside its successor, and rejoins",
    brokenMs: 3_000,
    async inject({ cluster }) {
      const former = cluster.primary;
      const thaw = former.freeze();
      await cluster.promote();
      setTimeout(thaw, 1_500);
      return async () => {
        await former.stopImmediately();
        await cluster.rejoin(former);
      };
    },
  },
  {
    name: "PostgreSQL: kill -9 of a receiver",
    brokenMs: 500,
    async inject(world) {
      await world.receiver(1).kill();
      return () => world.startReceiver(1);
    },
  },
  {
    name: "PostgreSQL: SIGSTOP of a receiver, beyond its leases",
    brokenMs: 3_000,
    inject: async (world) => world.receiver(1).freeze(),
  },
  {
    name: "PostgreSQL: a silent network between a receiver and the servers",
    brokenMs: 8_000,
    async inject({ proxies }) {
      for (const proxy of proxies) proxy.freezeAll();
      return () => healAll(proxies);
    },
  },
  {
    name: "PostgreSQL: silent death of the connections between a receiver and the servers",
    brokenMs: 500,
    async inject({ proxies }) {
      for (const proxy of proxies) proxy.freezeExisting();
      return () => {};
    },
  },
  {
    name: "PostgreSQL: a receiver whose network is silent is stopped, and another one starts",
    brokenMs: 500,
    async inject(world, random) {
      const onlyExisting = random.happens(0.5);
      for (const proxy of world.proxies) onlyExisting ? proxy.freezeExisting() : proxy.freezeAll();
      await world.receiver(0).stop();
      return async () => {
        healAll(world.proxies);
        await world.startReceiver(0);
      };
    },
  },
  {
    name: "PostgreSQL: full disk of the primary",
    brokenMs: 3_000,
    diskBytes: 192 * 1024 * 1024,
    usesUpWorld: true,
    async inject({ cluster }) {
      const free = await cluster.fillDisk();
      return async () => {
        await free();
        await cluster.primary.resumeIfEnded();
      };
    },
  },
];

/** Mounting a small disk needs root. */
const canMount = () => process.platform === "linux" && process.getuid?.() === 0;

/** Each cell has servers of its own. */
export function postgresGroup(): ChaosGroup {
  const possible = postgresFaults.filter(({ diskBytes }) => diskBytes === undefined || canMount());
  return {
    cells: possible.map(({ diskBytes, ...fault }) => ({
      ...fault,
      start: () => PostgresWorld.start({ diskBytes }),
    })),
    async [Symbol.asyncDispose]() {},
  };
}
