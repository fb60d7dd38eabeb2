import { AsyncLocalStorage } from "node:async_hooks";
import type { ReconcilableTask, ReconcileClient, TenantClient } from "@workspace-tasks/receiver-kit";
import { describe, expect, it } from "vitest";
import { instant } from "../../../support/inbox-rows.ts";
import { memoryInbox } from "../../../support/inbox-stores.ts";
import {
  createFixtureClock,
  createReceiverFixture,
  type ReceiverFixtureOptions,
} from "../../../support/receiver-fixture.ts";
import { secretA } from "../../../support/signed-delivery.ts";

const task = (id: string, status = "COMPLETED"): ReconcilableTask => ({
  id,
  type: "TAX_PREP",
  status,
  startedAt: instant(1),
  completedAt: instant(5),
  subTasks: [],
});

/** The tasks API, newest first; the test decides what each request for all of them does. */
function tasksApi(tasks: readonly ReconcilableTask[]) {
  const api = { lists: 0, offsets: [] as number[], page: async (_at: number) => {} };
  const client: ReconcileClient = {
    me: async () => ({ workspace: { id: "workspace-1" } }),
    tasks: {
      async *list({ ids, offset = 0 }) {
        if (ids) return yield* tasks.filter(({ id }) => ids.includes(id));
        api.lists += 1;
        api.offsets.push(offset);
        for (const [at, each] of tasks.entries()) {
          if (at < offset) continue;
          if (at % 100 === 0) await api.page(at);
          yield each;
        }
      },
    },
  };
  return { api, client };
}

const everyMs = 300_000;

/** A started receiver with the option; keeps the states that its handler sees. */
async function scheduled(client: ReconcileClient, options: ReceiverFixtureOptions = {}) {
  const fixture = createReceiverFixture({ reconcile: { client, everyMs }, ...options });
  const states = new Map<string, string>();
  fixture.receiver.onState("task", ({ taskId, status }) => void states.set(taskId, status));
  await fixture.receiver.start();
  const statsOf = async () => (await fixture.receiver.stats()).reconcile;
  return { ...fixture, states, statsOf };
}

const numbered = (count: number) => Array.from({ length: count }, (_, at) => task(`task-${at}`));

describe("the option reconcile", () => {
  it("brings every task of before the receiver existed, within seconds of its start; without it none", async () => {
    const { client } = tasksApi(numbered(250));
    await using own = await scheduled(client);
    await using without = await scheduled(client, { reconcile: undefined });
    await own.clock.advance("10s");
    await without.clock.advance("1h");
    expect(own.states.size).toBe(250);
    expect(without.states.size).toBe(0);
    expect(await own.statsOf()).toMatchObject({ examined: 250, enqueued: 250, failed: 0 });
    expect(await without.statsOf()).toMatchObject({ examined: 0, succeededAgoMs: null });
  });

  it("survives ten minutes without the service, of which log and stats() tell, and finds what was lost in the next round", async () => {
    const tasks = [task("task-1")];
    const { api, client } = tasksApi(tasks);
    await using own = await scheduled(client);
    await own.clock.advance("10s");
    api.page = () => Promise.reject(new Error("the service is away"));
    await own.clock.advance("10m");
    const failed = await own.statsOf();
    expect(failed.failed).toBeGreaterThanOrEqual(1);
    expect(failed.succeededAgoMs).toBeGreaterThan(590_000);
    const lines = own.log.filter(({ message }) => message.startsWith("reconciling failed"));
    expect(lines).toHaveLength(failed.failed);
    tasks.unshift(task("task-2"));
    api.page = async () => {};
    await own.clock.advance(everyMs * 2);
    expect(own.states.get("task-2")).toBe("COMPLETED");
    expect((await own.statsOf()).succeededAgoMs).toBeLessThan(everyMs * 1.2);
  });

  it("continues the first list where it was stopped, also in another process", async () => {
    const { api, client } = tasksApi(numbered(1_000));
    const clock = createFixtureClock();
    const inbox = memoryInbox({ clock });
    api.page = (at) => (at === 600 ? Promise.reject(new Error("lost")) : Promise.resolve());
    await using first = await scheduled(client, { clock, inbox });
    await clock.advance("10s");
    expect(api.offsets).toEqual([0]);
    await first.receiver.close();
    api.page = async () => {};
    await inbox.open();
    await using second = await scheduled(client, { clock, inbox });
    await clock.advance(everyMs * 1.5);
    expect(api.offsets.slice(0, 2)).toEqual([0, 500]);
    expect(new Set([...first.states.keys(), ...second.states.keys()]).size).toBe(1_000);
  });

  it("runs in one of four processes of an inbox at a time, also when a round takes longer than everyMs", async () => {
    const { api, client } = tasksApi(numbered(800));
    const clock = createFixtureClock();
    const inbox = memoryInbox({ clock });
    let running = 0;
    let most = 0;
    api.page = async (at) => {
      if (at === 0) running += 1;
      most = Math.max(most, running);
      await new Promise<void>((resolve) => clock.schedule(60_000, resolve));
      if (at === 700) running -= 1;
    };
    const processes = await Promise.all(
      [0.1, 0.4, 0.6, 0.9].map((chance) => scheduled(client, { clock, inbox, random: () => chance })),
    );
    await clock.advance("40m");
    expect(most).toBe(1);
    expect(api.lists).toBeGreaterThan(1);
    for (const each of processes) await each[Symbol.asyncDispose]();
  });

  it("is taken over when the process that has the turn is gone", async () => {
    const { api, client } = tasksApi(numbered(10));
    const clock = createFixtureClock();
    const inbox = memoryInbox({ clock });
    // As a process that is killed in its round.
    await inbox.open();
    await inbox.advanceHead({ source: "default", key: "reconcile", position: "000000000000001" });
    await using own = await scheduled(client, { clock, inbox });
    await clock.advance("30s");
    expect(api.lists).toBe(0);
    await clock.advance("90s");
    expect(own.states.size).toBe(10);
  });

  it("ends when another process has taken the turn, and says why", async () => {
    const { api, client } = tasksApi(numbered(10));
    api.page = () => new Promise(() => {});
    const inbox = memoryInbox();
    await using own = await scheduled(client, { inbox });
    await own.clock.advance("10s");
    // As after a halt that was longer than the turn.
    await inbox.advanceHead({ source: "default", key: "reconcile", position: "000000000009999" });
    await own.clock.advance("30s");
    const lines = own.log.filter(({ message }) => message.startsWith("reconciling failed"));
    expect(lines).toMatchObject([{ fields: { err: { code: "LEASE_LOST" } } }]);
  });

  it("does not keep close() waiting for a client that never answers, and counts no failure", async () => {
    const { api, client } = tasksApi(numbered(10));
    api.page = () => new Promise(() => {});
    const own = await scheduled(client);
    await own.clock.advance("10s");
    expect(api.lists).toBe(1);
    await own.receiver.close();
    expect(own.log.filter(({ message }) => message.startsWith("reconciling failed"))).toEqual([]);
  });

  it("ends a round whose client does not answer for ten minutes", async () => {
    const { api, client } = tasksApi(numbered(10));
    api.page = () => new Promise(() => {});
    await using own = await scheduled(client);
    await own.clock.advance("11m");
    expect((await own.statsOf()).failed).toBe(1);
    api.page = async () => {};
    await own.clock.advance(everyMs * 2);
    expect(own.states.size).toBe(10);
  });

  it("reads the tasks of every tenant with a client of its own; one that fails does not stop the others", async () => {
    const tenants: TenantClient[] = ["acme", "broken", "bolt"].map((id) => ({
      tenant: { id, workspaceId: "workspace-1" },
      client: tasksApi([task(`task-of-${id}`)]).client,
    }));
    Object.assign(tenants[1]?.client ?? {}, { me: () => Promise.reject(new Error("revoked")) });
    const seen: string[] = [];
    await using own = createReceiverFixture({
      secrets: {
        byTenant: ({ path }) => ({ id: path.slice(1), workspaceId: "workspace-1", secrets: [secretA] }),
      },
      reconcile: { client: async () => tenants, everyMs },
    });
    own.receiver.onState("task", ({ taskId }, { tenant }) => void seen.push(`${tenant} ${taskId}`));
    await own.receiver.start();
    await own.clock.advance("10s");
    expect(seen.sort()).toEqual(["acme task-of-acme", "bolt task-of-bolt"]);
    expect((await own.receiver.stats()).reconcile).toMatchObject({ examined: 2, failed: 1 });
    const line = own.log.find(({ message }) => message.startsWith("reconciling of a tenant failed"));
    expect(line?.fields).toMatchObject({ tenant: "broken" });
  });

  it("says what its function returns in place of tenants; one entry does not stop the others", async () => {
    const { client } = tasksApi([task("task-of-acme")]);
    const acme = { tenant: { id: "acme", workspaceId: "workspace-1" }, client };
    const logged = async (returned: unknown) => {
      await using own = createReceiverFixture({
        secrets: { byTenant: () => undefined },
        reconcile: { client: () => returned as TenantClient[], everyMs },
      });
      own.receiver.onState("task", () => {});
      await own.receiver.start();
      await own.clock.advance("10s");
      const { examined } = (await own.receiver.stats()).reconcile;
      return [
        examined,
        ...own.log.flatMap(({ fields }) => (fields as { readonly err?: Error }).err?.message ?? []),
      ];
    };
    const option = "createReceiver: reconcile.client: expected";
    const noTenant = `${option} a list of { tenant, client }, got`;
    expect(await logged([null, { tenant: acme.tenant }, acme])).toEqual([
      1,
      `${noTenant} null`,
      `${noTenant} an object`,
    ]);
    expect(await logged(new Map([["acme", acme]]))).toEqual([0, `${noTenant} an array`]);
    expect(await logged(acme)).toEqual([
      0,
      `${option} its function to return a list of { tenant, client }, got an object`,
    ]);
  });

  it("is refused where client and secrets do not fit, or everyMs is too short", () => {
    const { client } = tasksApi([]);
    const create = (options: ReceiverFixtureOptions) => () => createReceiverFixture(options);
    expect(create({ reconcile: { client: async () => [] } })).toThrow("expected a client, because");
    const secrets = { byTenant: () => undefined };
    expect(create({ secrets, reconcile: { client } })).toThrow("expected a function, because");
    expect(create({ reconcile: { client, everyMs: 500 } })).toThrow("reconcile.everyMs: expected");
    expect(create({ reconcile: { client: {} as ReconcileClient } })).toThrow(
      "expected a client with tasks.list",
    );
  });
});

describe("what start() begins", () => {
  it("runs outside of the trace of its caller, and of the deliveries that wake it", async () => {
    const trace = new AsyncLocalStorage<string>();
    const { api, client } = tasksApi(numbered(1));
    const traces: (string | undefined)[] = [];
    api.page = async () => void traces.push(trace.getStore());
    const inbox = memoryInbox();
    const claim = inbox.claim.bind(inbox);
    inbox.claim = (options) => {
      traces.push(trace.getStore());
      return claim(options);
    };
    await using own = createReceiverFixture({ inbox, reconcile: { client, everyMs } });
    own.receiver.on("*", () => {});
    await trace.run("boot", () => own.startWithEvent());
    await trace.run("advance", () => own.clock.advance("5s"));
    expect(traces.length).toBeGreaterThan(2);
    expect(new Set(traces)).toEqual(new Set([undefined]));
  });
});
