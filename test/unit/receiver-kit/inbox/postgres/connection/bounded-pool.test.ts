import { createVirtualClock } from "@workspace-tasks/mock-server";
import { describe, expect, it } from "vitest";
import { boundPool } from "../../../../../../receiver-kit/inbox/postgres/connection/bounded-pool.ts";
import type {
  PostgresClient,
  PostgresResult,
} from "../../../../../../receiver-kit/inbox/postgres/sql/postgres-pool.ts";

type Query = (text: string) => Promise<PostgresResult>;

function createClient(run: Query, note: (event: string) => void) {
  const client: PostgresClient & { readonly connection: object } = {
    query: (query) => run(typeof query === "string" ? query : query.text),
    release: (destroy) => note(destroy ? "destroyed" : "returned"),
    on() {},
    removeListener() {},
    connection: { stream: { destroy: () => note("socket closed") } },
  };
  return client;
}

/** A pool of one client, and what becomes of it. */
function poolOf(query: Query) {
  const clock = createVirtualClock();
  const events: string[] = [];
  const client = createClient(query, (event) => void events.push(event));
  return { client, clock, events, pool: boundPool({ connect: async () => client }, 1_000, clock) };
}

/** A pool of three idle clients. A statement that begins with "fail" fails, and one that ends with "late" ends with `finish`. */
function poolOfThree(code: string) {
  const clock = createVirtualClock();
  const destroyed: string[] = [];
  const idle: PostgresClient[] = [];
  const waiting: (() => void)[] = [];
  let opened = 0;
  const query: Query = async (text) => {
    if (text.endsWith("late")) await new Promise<void>((resolve) => waiting.push(resolve));
    if (text.startsWith("fail")) throw Object.assign(new Error(text), { code });
    return { rows: [] };
  };
  const open = () => {
    const name = `client ${++opened}`;
    const client = createClient(query, (event) => {
      if (event === "returned") idle.push(client);
      if (event === "destroyed") destroyed.push(name);
    });
    return client;
  };
  for (let count = 0; count < 3; count += 1) idle.push(open());
  const shared = {
    connect: async () => idle.shift() ?? open(),
    get idleCount() {
      return idle.length;
    },
  };
  const pool = boundPool(shared, 1_000, clock);
  return {
    pool,
    destroyed,
    opened: () => opened,
    /** Settled, or not, and a moment later. */
    async run(text: string) {
      const done = pool.query(text).then(
        () => "succeeded",
        () => "failed",
      );
      await clock.advance(1);
      return { done };
    },
    async finish() {
      for (const resolve of waiting.splice(0)) resolve();
      await clock.advance(1);
    },
  };
}

describe("a client of a PostgreSQL pool", () => {
  it("that does not respond within the limit is destroyed with its socket, so that the pool can open another", async () => {
    const { clock, events, pool } = poolOf(() => new Promise(() => {}));
    const failed = pool.query("SELECT 1").catch((error: unknown) => error);
    await clock.advance(999);
    expect(events).toEqual([]);
    await clock.advance(1);
    expect(await failed).toMatchObject({
      code: "INBOX_UNAVAILABLE",
      message: "postgres inbox: no response in 1000 ms (queryTimeoutMs is 1000), outcome unknown",
    });
    expect(events).toEqual(["destroyed", "socket closed"]);
  });

  it("that is not available within the limit is waited for no longer", async () => {
    const clock = createVirtualClock();
    const pool = boundPool({ connect: () => new Promise(() => {}) }, 1_000, clock);
    const failed = pool.query("SELECT 1").catch((error: unknown) => error);
    await clock.advance(1_000);
    expect(String(await failed)).toContain("no client of the pool was available within 1000 ms");
  });
});

describe("the clients of a PostgreSQL pool", () => {
  it("that do not respond are destroyed by the close of the inbox, also when another one's silence is noticed meanwhile", async () => {
    const clock = createVirtualClock();
    const destroyed: string[] = [];
    const idle: PostgresClient[] = [];
    const clientNamed = (name: string, run: Query) => {
      const client = createClient(run, (event) => {
        if (event === "returned") idle.push(client);
        if (event === "destroyed") destroyed.push(name);
      });
      idle.push(client);
    };
    const silence = () => new Promise<never>(() => {});
    let isSilent = false;
    clientNamed("first", silence);
    clientNamed("second", async () => (isSilent ? silence() : { rows: [] }));
    const shared = {
      connect() {
        const client = idle.shift() as PostgresClient;
        return new Promise<PostgresClient>((resolve) => clock.schedule(5, () => resolve(client)));
      },
      get idleCount() {
        return idle.length;
      },
    };
    const pool = boundPool(shared, 1_000, clock);
    const late = pool.query("SELECT 1").catch(() => {});
    await clock.advance(600);
    const responded = pool.query("SELECT 1");
    await clock.advance(300);
    await responded;
    isSilent = true;
    const closed = pool.close();
    await clock.advance(2_000);
    await Promise.all([late, closed]);
    expect(destroyed).toEqual(["first", "second"]);
  });

  it.each(["25006", "57P01"])(
    "are all destroyed after the error %s of a demoted server: idle ones at once, others when they are released",
    async (code) => {
      const at = poolOfThree(code);
      const { done } = await at.run("late");
      await at.run("fail");
      expect(at.destroyed.toSorted()).toEqual(["client 2", "client 3"]);
      await at.finish();
      expect(await done).toBe("succeeded");
      expect(at.destroyed.at(-1)).toBe("client 1");
    },
  );

  it("control: are returned and stay idle after an error that says nothing about the server", async () => {
    const at = poolOfThree("23505");
    await at.run("late");
    await at.run("fail");
    await at.finish();
    expect(at.destroyed).toEqual([]);
  });

  it("of the new primary are kept when statements on clients of the old one fail later", async () => {
    const at = poolOfThree("57P01");
    for (let count = 0; count < 2; count += 1) await at.run("fail late");
    await at.run("fail");
    await at.run("SELECT 1");
    expect(at.opened()).toBe(4);
    await at.finish();
    await at.run("SELECT 1");
    expect(at.opened()).toBe(4);
    expect(at.destroyed).toHaveLength(3);
  });

  it.each([
    ["57P01", ["client 1"]],
    ["25006", []],
  ])("are kept when a handler's statement fails with %s, except %j", async (code, destroyed) => {
    const at = poolOfThree(code);
    const pooled = await at.pool.checkOut();
    await expect(pooled.withinForHandler(pooled.client.query("fail"))).rejects.toMatchObject({ code });
    pooled.release();
    expect(at.destroyed).toEqual(destroyed);
    await at.run("SELECT 1");
    expect(at.opened()).toBe(3);
  });
});
