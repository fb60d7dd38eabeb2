import { describe, expect, it } from "vitest";
import { createVirtualClock } from "workspace-tasks/mock-server";
import { boundPool } from "../../../../../receiver-kit/inbox/postgres/bounded-pool.ts";
import type {
  PostgresClient,
  PostgresResult,
} from "../../../../../receiver-kit/inbox/postgres/postgres-pool.ts";

type Query = (text: string) => Promise<PostgresResult>;

function createClient(query: Query, note: (event: string) => void) {
  const client: PostgresClient & { readonly connection: object } = {
    query,
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
  return { clock, events, pool: boundPool({ connect: async () => client }, 1_000, clock) };
}

/** A pool of three idle clients whose server is demoted. A query "slow" ends with `finish`. */
async function failOver(code: string) {
  const clock = createVirtualClock();
  const events: string[] = [];
  let finish = () => {};
  const query: Query = async (text) => {
    if (text === "slow") await new Promise<void>((resolve) => (finish = resolve));
    if (text === "fail") throw Object.assign(new Error(text), { code });
    return { rows: [] };
  };
  const idle = ["a", "b", "c"].map((name) =>
    createClient(query, (event) => event !== "socket closed" && events.push(`${name} ${event}`)),
  );
  const connect = async () => idle.shift() ?? createClient(query, () => {});
  const shared = {
    connect,
    get idleCount() {
      return idle.length;
    },
  };
  const pool = boundPool(shared, 1_000, clock);
  const slow = pool.query("slow");
  await clock.advance(1);
  await pool.query("fail").catch(() => {});
  await clock.advance(1);
  finish();
  await slow;
  return events;
}

describe("a client of a PostgreSQL pool", () => {
  it("that does not respond within the limit is destroyed with its socket, so that the pool can open another", async () => {
    const { clock, events, pool } = poolOf(() => new Promise(() => {}));
    const failed = pool.query("SELECT 1").catch((error: unknown) => error);
    await clock.advance(999);
    expect(events).toEqual([]);
    await clock.advance(1);
    expect(await failed).toMatchObject({ code: "INBOX_UNAVAILABLE" });
    expect(events).toEqual(["destroyed", "socket closed"]);
  });

  it("control: that responds is returned", async () => {
    const { events, pool } = poolOf(async () => ({ rows: [{ one: 1 }] }));
    expect((await pool.query("SELECT 1 AS one")).rows).toEqual([{ one: 1 }]);
    expect(events).toEqual(["returned"]);
  });
});

describe("the clients of a PostgreSQL pool", () => {
  it.each(["25006", "57P01"])(
    "are all destroyed after the error %s of a demoted server: idle ones at once, others when they are released",
    async (code) => {
      expect(await failOver(code)).toEqual(["c destroyed", "b destroyed", "a destroyed"]);
    },
  );

  it("control: are returned and stay idle after an error that says nothing about the server", async () => {
    expect(await failOver("23505")).toEqual(["b returned", "a returned"]);
  });
});
