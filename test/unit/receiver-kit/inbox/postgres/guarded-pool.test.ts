import { createVirtualClock } from "@workspace-tasks/mock-server";
import { describe, expect, it } from "vitest";
import { GuardedPool } from "../../../../../receiver-kit/inbox/postgres/guarded-pool.ts";
import type {
  PostgresClient,
  PostgresResult,
  PostgresRow,
} from "../../../../../receiver-kit/inbox/postgres/postgres-pool.ts";

type Query = (text: string) => Promise<readonly PostgresRow[]>;

const silence: Query = () => new Promise(() => {});

/** A pool of so many idle clients whose statements `query` answers, and what becomes of the clients. */
function createPool(queries: readonly Query[], prepares = false) {
  const clock = createVirtualClock();
  const events: string[] = [];
  const idle: PostgresClient[] = queries.map((query, index) => {
    const client: PostgresClient & { readonly connection: object } = {
      query: async (given) => {
        const { text } = typeof given === "string" ? { text: given } : given;
        return { rows: await query(text) } as PostgresResult;
      },
      release(destroy) {
        events.push(`${index} ${destroy ? "destroyed" : "returned"}`);
        if (!destroy) idle.push(client);
      },
      on() {},
      removeListener() {},
      connection: { stream: { destroy: () => void events.push(`${index} closed`) } },
    };
    return client;
  });
  const shared = {
    connect: () => {
      const client = idle.shift();
      return client ? Promise.resolve(client) : new Promise<PostgresClient>(() => {});
    },
    get idleCount() {
      return idle.length;
    },
  };
  return { clock, events, pool: new GuardedPool(shared, 1_000, prepares, clock) };
}

const failing = (code: string): Query => {
  return async (text) => {
    if (text === "ROLLBACK") return [];
    throw Object.assign(new Error(code), { code });
  };
};
const answering = (readOnly: "on" | "off"): Query => {
  return async () => [{ read_only: readOnly }];
};

describe("a client of a PostgreSQL pool", () => {
  it.each([{}, undefined])(
    "that cannot be released, such as a Client of pg, is named: %j",
    async (client) => {
      const pool = new GuardedPool({ connect: async () => client as PostgresClient }, 1_000, false);
      await expect(pool.open()).rejects.toMatchObject({
        code: "CONFIGURATION_INVALID",
        message: expect.stringContaining("pass new pg.Pool"),
      });
    },
  );

  it("that does not respond within the limit is destroyed with its socket, so that the pool can open another", async () => {
    const { clock, events, pool } = createPool([silence]);
    const failed = pool.query("SELECT 1").catch((error: unknown) => error);
    await clock.advance(999);
    expect(events).toEqual([]);
    await clock.advance(1);
    expect(await failed).toMatchObject({
      code: "INBOX_UNAVAILABLE",
      message: "postgres inbox: no response in 1000 ms (queryTimeoutMs is 1000), outcome unknown",
    });
    expect(events).toEqual(["0 destroyed", "0 closed"]);
  });

  it("that is not available within the limit is waited for no longer", async () => {
    const { clock, pool } = createPool([]);
    const failed = pool.query("SELECT 1").catch((error: unknown) => error);
    await clock.advance(1_000);
    expect(String(await failed)).toContain("no client of the pool was available within 1000 ms");
  });

  it.each([
    ["one does not respond", silence],
    ["the server was demoted", failing("25006")],
    ["the server stops", failing("57P01")],
  ])("that is idle is destroyed when it is silent or cannot write, after %s", async (_, first) => {
    const { clock, events, pool } = createPool([first, silence, answering("on"), answering("off")]);
    const failed = pool.query("SELECT 1").catch(() => {});
    await clock.advance(2_000);
    await failed;
    const destroyed = events.filter((event) => event.endsWith("destroyed"));
    expect(destroyed.toSorted()).toEqual(["0 destroyed", "1 destroyed", "2 destroyed"]);
    expect(events.at(-1)).not.toBe("3 destroyed");
  });

  it("control: that is idle stays so after an error that says nothing about the server", async () => {
    const { clock, events, pool } = createPool([failing("23505"), silence]);
    await pool.query("SELECT 1").catch(() => {});
    await clock.advance(2_000);
    expect(events).toEqual(["0 returned"]);
  });

  it("that a handler waits for is destroyed when another one has been silent as long, and not one that has responded since", async () => {
    const { clock, events, pool } = createPool([silence, silence, answering("off"), silence]);
    const [first, second] = [await pool.checkOut(), await pool.checkOut()];
    const third = await pool.checkOut();
    first.waitsSinceMs = clock.monotonic();
    await clock.advance(10);
    const failed = pool.query("SELECT 1").catch(() => {});
    await clock.advance(10);
    second.waitsSinceMs = clock.monotonic();
    third.waitsSinceMs = undefined;
    await clock.advance(1_000);
    await failed;
    expect(events.filter((event) => event.endsWith("destroyed"))).toEqual(["3 destroyed", "0 destroyed"]);
  });

  it("that does not respond is destroyed by the close of the inbox", async () => {
    const { clock, events, pool } = createPool([silence, answering("off")]);
    const closed = pool.close();
    await clock.advance(1_000);
    await closed;
    expect(events).toEqual(["1 returned", "0 destroyed", "0 closed"]);
  });
});

describe("statements of a PostgreSQL pool", () => {
  it.each(["26000", "42P05"])(
    "are sent as text once the server answers %s, as behind a pooler, also those that were in flight",
    async (code) => {
      const sent: string[] = [];
      const query: Query = async (text) => {
        sent.push(text);
        if (/EXECUTE|PREPARE/.test(text)) throw Object.assign(new Error("unknown"), { code });
        return [];
      };
      const { pool } = createPool([query, query], true);
      const statement = { name: "named", text: "SELECT $1::text" };
      await Promise.all(["it's", null].map((value) => pool.rows("write", [statement, [value]])));
      const bodies = sent.filter((text) => text.startsWith("BEGIN")).map((text) => text.split("; ").at(-2));
      expect(bodies.slice(-2)).toEqual(["SELECT E'it''s'::text", "SELECT null::text"]);
      expect(sent.filter((text) => /EXECUTE|PREPARE/.test(text)).length).toBe(2);
    },
  );
});
