import { describe, expect, it } from "vitest";
import { createVirtualClock } from "workspace-tasks/mock-server";
import { boundPool } from "../../../../../receiver-kit/inbox/postgres/bounded-pool.ts";
import type {
  PostgresClient,
  PostgresResult,
} from "../../../../../receiver-kit/inbox/postgres/postgres-pool.ts";

/** A pool of one client, and what becomes of it. */
function poolOf(query: () => Promise<PostgresResult>) {
  const clock = createVirtualClock();
  const events: string[] = [];
  const client: PostgresClient & { readonly connection: object } = {
    query,
    release: (destroy) => void events.push(destroy ? "destroyed" : "returned"),
    on() {},
    removeListener() {},
    connection: { stream: { destroy: () => void events.push("socket closed") } },
  };
  return { clock, events, pool: boundPool({ connect: async () => client }, 1_000, clock) };
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
