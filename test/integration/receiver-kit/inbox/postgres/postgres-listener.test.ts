import { EventEmitter } from "node:events";
import { createVirtualClock } from "@workspace-tasks/mock-server";
import { describe, expect, it } from "vitest";
import { GuardedPool } from "../../../../../receiver-kit/inbox/postgres/guarded-pool.ts";
import { createWakeUps } from "../../../../../receiver-kit/inbox/postgres/postgres-listener.ts";
import type {
  PostgresClient,
  PostgresPool,
} from "../../../../../receiver-kit/inbox/postgres/postgres-pool.ts";

type FakeClient = ReturnType<typeof createFakeClient>;

function createFakeClient() {
  const client = Object.assign(new EventEmitter(), {
    queries: [] as string[],
    released: [] as unknown[],
    /** Queries stay without a response, as on a connection whose peer disappeared. */
    silent: false,
    async query({ text }: { text: string }) {
      client.queries.push(text);
      if (client.silent) await new Promise(() => {});
      return { rows: [] };
    },
    release: (destroy?: boolean) => void client.released.push(destroy),
  });
  return client;
}

function createFixture() {
  const clock = createVirtualClock();
  const clients: FakeClient[] = [];
  let connecting: "works" | "fails" | "hangs" = "works";
  const pool: PostgresPool = {
    async connect() {
      if (connecting === "fails") throw new Error("connection refused");
      if (connecting === "hangs") await new Promise(() => {});
      const client = createFakeClient();
      clients.push(client);
      return client as unknown as PostgresClient;
    },
  };
  const woken: string[] = [];
  const guarded = new GuardedPool(pool, 5_000, false, clock);
  const wakeUps = (channel = "inbox") =>
    createWakeUps({ callersPool: pool, pool: guarded, listening: guarded, channel, clock });
  const listen = (name: string, channel?: string) =>
    wakeUps(channel).subscribe((source = "any") => void woken.push(`${name} ${source}`));
  return {
    clock,
    clients,
    woken,
    listen,
    wakeUps,
    set connecting(value: typeof connecting) {
      connecting = value;
    },
  };
}

describe("the PostgreSQL listener", () => {
  it("takes one client per pool and channel, however many subscribe", async () => {
    const { clients, woken, listen } = createFixture();
    await Promise.all(Array.from({ length: 20 }, (_, n) => listen(`receiver ${n}`)));
    expect(clients.map(({ queries }) => queries)).toEqual([['LISTEN "inbox"']]);
    await listen("other schema", "other");
    expect(clients.map(({ queries }) => queries)).toEqual([['LISTEN "inbox"'], ['LISTEN "other"']]);
    woken.length = 0;
    clients[0]?.emit("notification", { channel: "inbox", payload: "another-process default" });
    expect(woken).toEqual(Array.from({ length: 20 }, (_, n) => `receiver ${n} default`));
  });

  it("is closed with its last subscriber, and connects again for the next one", async () => {
    const { clock, clients, listen } = createFixture();
    const [endFirst, endSecond] = [await listen("first"), await listen("second")];
    await endFirst();
    await endFirst();
    expect(clients[0]?.released).toEqual([]);
    await endSecond();
    expect(clients[0]?.released).toEqual([true]);
    await clock.advance(60_000);
    expect(clients).toHaveLength(1);
    await listen("third");
    expect(clients).toHaveLength(2);
  });

  it("reconnects after its connection is lost, and wakes every subscriber", async () => {
    const { clock, clients, woken, listen } = createFixture();
    await Promise.all([listen("a"), listen("b")]);
    woken.length = 0;
    clients[0]?.emit("end");
    expect(clients[0]?.released).toEqual([true]);
    await clock.advance(1_000);
    expect(clients).toHaveLength(2);
    expect(woken).toEqual(["a any", "b any"]);
  });

  it("replaces a connection that no longer responds, without an event of the socket", async () => {
    const { clock, clients, listen } = createFixture();
    await listen("a");
    const [first] = clients;
    await clock.advance(15_000);
    expect(first?.queries).toEqual(['LISTEN "inbox"', "SELECT 1"]);
    if (first) first.silent = true;
    await clock.advance(15_000 + 5_000 + 1_000);
    expect(first?.released).toEqual([true]);
    expect(clients.map(({ queries }) => queries.at(0))).toEqual(['LISTEN "inbox"', 'LISTEN "inbox"']);
  });

  it("tells receivers of its pool at once and others at most every 25 ms, and does not hear what it has said itself", async () => {
    const { clock, clients, woken, listen, wakeUps } = createFixture();
    await listen("a");
    woken.length = 0;
    const { wake } = wakeUps();
    for (let n = 0; n < 5; n++) wake("default");
    expect(woken).toEqual(Array.from({ length: 5 }, () => "a default"));
    await clock.advance(24);
    const notifications = () =>
      clients.flatMap(({ queries }) => queries).filter((text) => text.includes("pg_notify"));
    expect(notifications()).toHaveLength(1);
    await clock.advance(1);
    expect(notifications()).toHaveLength(2);
    const [, payload] = /\{"?([^"}]+)"?\}/.exec(notifications()[0] ?? "") ?? [];
    clients[0]?.emit("notification", { payload });
    expect(woken).toHaveLength(5);
  });

  it("hears what was said through another pool of its process", async () => {
    const [speaking, hearing] = [createFixture(), createFixture()];
    await hearing.listen("a");
    hearing.woken.length = 0;
    speaking.wakeUps().wake("default");
    await speaking.clock.advance(0);
    const [notification = ""] = speaking.clients.flatMap(({ queries }) => queries);
    const [, payload] = /\{"?([^"}]+)"?\}/.exec(notification) ?? [];
    hearing.clients[0]?.emit("notification", { payload });
    expect(hearing.woken).toEqual(["a default"]);
  });

  it.each(["fails", "hangs"] as const)("lets a subscriber start while connecting %s", async (connecting) => {
    const fixture = createFixture();
    fixture.connecting = connecting;
    const subscribed = fixture.listen("a");
    await fixture.clock.advance(5_000);
    const unsubscribe = await subscribed;
    fixture.connecting = "works";
    await fixture.clock.advance(6_000);
    expect(fixture.woken).toEqual(["a any"]);
    await unsubscribe();
  });
});
