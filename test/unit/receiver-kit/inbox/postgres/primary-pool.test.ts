import { EventEmitter } from "node:events";
import { createVirtualClock } from "@workspace-tasks/mock-server";
import { type PostgresClient, type PostgresPool, primaryPool } from "@workspace-tasks/receiver-kit/postgres";
import { describe, expect, it } from "vitest";

type Server = "primary" | "standby" | "absent" | "silent" | "connects, then silent";

/** Pools of servers whose roles a test changes. */
function createServers(...roles: Server[]) {
  const connects: number[] = [];
  const questions: number[] = [];
  const destroyed: number[] = [];
  const pools = roles.map(
    (_, index): PostgresPool => ({
      async connect() {
        connects.push(index);
        if (roles[index] === "absent") throw new Error("ECONNREFUSED");
        if (roles[index] === "silent") return new Promise<PostgresClient>(() => {});
        return {
          async query() {
            questions.push(index);
            if (roles[index] === "connects, then silent") return new Promise<never>(() => {});
            return { rows: [{ read_only: roles[index] === "standby" ? "on" : "off" }] };
          },
          release: (destroy) => void (destroy && destroyed.push(index)),
          on: () => {},
          removeListener: () => {},
        };
      },
    }),
  );
  return { roles, pools, connects, questions, destroyed };
}

describe("primaryPool", () => {
  it("connects to the server that is writable, and closes the clients of the others", async () => {
    const servers = createServers("absent", "standby", "primary");
    const pool = primaryPool(servers.pools);
    await pool.connect();
    expect(servers.connects).toEqual([0, 1, 2]);
    expect(servers.destroyed).toEqual([1]);
    await pool.connect();
    expect(servers.connects).toEqual([0, 1, 2, 2]);
  });

  it("asks a client whose loss does not end the process, before a caller listens to it", async () => {
    const client = Object.assign(new EventEmitter(), {
      async query() {
        client.emit("error", new Error("the server ended the connection"));
        return { rows: [{ read_only: "off" }] };
      },
      release() {},
    });
    const pool: PostgresPool = { connect: async () => client as unknown as PostgresClient };
    expect(await primaryPool([pool]).connect()).toBe(client);
  });

  it("finds the new primary after a failover", async () => {
    const servers = createServers("primary", "standby", "standby");
    const pool = primaryPool(servers.pools);
    await pool.connect();
    Object.assign(servers.roles, ["absent", "standby", "primary"]);
    await pool.connect();
    await pool.connect();
    expect(servers.connects).toEqual([0, 0, 1, 2, 2]);
  });

  it("asks the next server when one does not respond, and starts with that one afterwards", async () => {
    const clock = createVirtualClock();
    const servers = createServers("silent", "primary");
    const pool = primaryPool(servers.pools, { clock });
    const connected = pool.connect();
    await clock.advance(1_500);
    await connected;
    await pool.connect();
    expect(servers.connects).toEqual([0, 1, 1]);
  });

  it("destroys the client of a server that connects and then does not respond", async () => {
    const clock = createVirtualClock();
    const servers = createServers("connects, then silent", "primary");
    const connected = primaryPool(servers.pools, { clock }).connect();
    await clock.advance(1_500);
    await connected;
    expect(servers.destroyed).toEqual([0]);
  });

  it("waits for a client of a server whose pool is used up", async () => {
    const clock = createVirtualClock();
    const servers = createServers("silent", "primary");
    Object.assign(servers.pools[0] as object, { idleCount: 0, totalCount: 5, options: { max: 5 } });
    void primaryPool(servers.pools, { clock }).connect();
    await clock.advance(10_000);
    expect(servers.connects).toEqual([0]);
  });

  it("rejects with INBOX_UNAVAILABLE and the reason of each server when none is the primary", async () => {
    const clock = createVirtualClock();
    const pool = primaryPool(createServers("absent", "standby", "silent").pools, { clock });
    const failed = Promise.resolve(pool.connect()).catch((thrown: unknown) => thrown);
    await clock.advance(1_500);
    const error = await failed;
    expect(error).toMatchObject({ code: "INBOX_UNAVAILABLE" });
    const { errors } = (error as { cause: AggregateError }).cause;
    expect(errors.map(({ message }) => message)).toEqual([
      "ECONNREFUSED",
      "postgres inbox: the server is read-only",
      "postgres inbox: no response within 1500 ms",
    ]);
  });

  it("rejects anything but an array of pools, and unknown options", () => {
    expect(() => primaryPool([])).toThrow("expected an array of pools");
    expect(() => primaryPool([{}] as never)).toThrow("expected an array of pools");
    expect(() => primaryPool(createServers("primary").pools, { clok: 1 } as never)).toThrow(
      "did you mean clock?",
    );
  });
});
