// Many events of which every 50th fails once: its handler runs twice, and no other one does. The same with batches: only the
// events that fail alone have a failed attempt.

import path from "node:path";
import { type BatchItem, createReceiver, type Inbox, silentLogger } from "@workspace-tasks/receiver-kit";
import { describe, expect, it } from "vitest";
import { type InboxStore, storeOf } from "../../../receiver-kit/inbox/inbox.ts";
import { atDepth } from "../../support/depth.ts";
import { runningAt } from "../../support/inbox-rows.ts";
import { memoryInbox, postgresInbox, sqliteInbox } from "../../support/inbox-stores.ts";
import { sharedPostgres } from "../../support/shared-server.ts";
import { secretA } from "../../support/signed-delivery.ts";
import { withFolder } from "../../support/with-folder.ts";
import { hasPostgres } from "../../support/with-postgres.ts";

interface Store {
  readonly inbox: InboxStore<Transaction>;
  effects(): Promise<readonly string[]>;
}
type Transaction = { write(names: readonly string[]): Promise<unknown> };

const count = atDepth(600, 3_000);
const ids = Array.from({ length: count }, (_, n) => `msg_${n}`);
const isBad = (id: string) => Number(id.slice(4)) % 50 === 0;
const bad = ids.filter(isBad);

type Stores = Readonly<Record<string, (use: (store: Store) => Promise<void>) => Promise<void>>>;

const stores: Stores = {
  async memory(use) {
    const applied: string[] = [];
    const inbox = adapt(memoryInbox(), ({ apply }, names) => apply(() => applied.push(...names)));
    await use({ inbox, effects: async () => applied });
  },
  SQLite: (use) =>
    withFolder(async (folder) => {
      const inbox = sqliteInbox(path.join(folder, "inbox.db"));
      const insert = "INSERT INTO effects SELECT value FROM json_each(?)";
      const adapted = adapt(inbox, ({ query }, names) => query(insert, [JSON.stringify(names)]));
      await inbox.open();
      await storeOf(inbox).insert(runningAt("setup", 0, { id: "setup", source: "setup" }));
      const setup = createReceiver({ secrets: [secretA], inbox, source: "setup", logger: silentLogger });
      setup.on(
        "*",
        async (_, { transaction }) => void (await transaction.query("CREATE TABLE effects (id TEXT)")),
      );
      await setup.start();
      await expect.poll(async () => (await setup.stats()).attempts.done).toBe(1);
      await setup.close();
      const { loadSqliteDriver } = await import("../../../receiver-kit/inbox/sqlite/sqlite-driver.ts");
      const effects = async () => {
        const connection = (await loadSqliteDriver())(path.join(folder, "inbox.db"));
        const rows = connection.query("SELECT id FROM effects");
        connection.close();
        return rows.map(({ id }) => String(id));
      };
      await use({ inbox: adapted, effects });
      await inbox.close();
    }),
  async PostgreSQL(use) {
    await using database = await (await sharedPostgres()).database();
    const pool = database.pool({ max: 16 });
    await pool.query("CREATE TABLE effects (id text)");
    const insert = "INSERT INTO effects SELECT * FROM unnest($1::text[])";
    const inbox = adapt(postgresInbox(pool), ({ query }, names) => query(insert, [names]));
    await use({
      inbox,
      effects: async () => (await pool.query("SELECT id FROM effects")).rows.map(({ id }) => String(id)),
    });
    await pool.end();
  },
};

/** The same handle for each store. */
function adapt<Own>(
  inbox: Inbox<Own>,
  write: (own: Own, names: readonly string[]) => unknown,
): InboxStore<Transaction> {
  const store = storeOf(inbox);
  const begin: InboxStore<Transaction>["begin"] = (items, options) => {
    const begun = store.begin(items, options);
    const handle: Transaction = { write: async (names) => write(begun.handle, names) };
    return { handle, commit: () => begun.commit(), rollback: () => begun.rollback() };
  };
  return new Proxy(store, {
    get(target, name: keyof InboxStore) {
      const member: unknown = name === "begin" ? begin : target[name];
      return typeof member === "function" ? member.bind(target) : member;
    },
  }) as unknown as InboxStore<Transaction>;
}

describe.each(Object.keys(stores).filter((name) => name !== "PostgreSQL" || hasPostgres))("on %s", (name) => {
  it.each(["single handlers", "batches"])(
    "%s run once per attempt, whatever happens to other events",
    async (kind) => {
      await stores[name]?.(async ({ inbox, effects }) => {
        const runs = new Map<string, number>();
        const attempts = new Map<string, number>();
        const handle = async (
          items: readonly Pick<BatchItem<object>, "id" | "attempt">[],
          transaction: Transaction,
        ) => {
          for (const { id, attempt } of items) {
            runs.set(id, (runs.get(id) ?? 0) + 1);
            attempts.set(id, Math.max(attempts.get(id) ?? 0, attempt));
          }
          await transaction.write(items.map(({ id }) => id));
          if (items.some(({ id, attempt }) => isBad(id) && attempt === 1)) throw new Error("fails once");
        };
        const receiver = createReceiver<Transaction>({
          secrets: [secretA],
          inbox,
          logger: silentLogger,
          retry: { firstDelayMs: 10, delayMsMax: 10 },
          leaseMs: 120_000,
        });
        if (kind === "batches") receiver.onBatch("*", (items, { transaction }) => handle(items, transaction));
        else receiver.on("*", (_, context) => handle([context], context.transaction));
        await inbox.open();
        await Promise.all(ids.map((id, n) => inbox.insert(runningAt(`task-${n % 600}`, n, { id }))));
        await receiver.start();
        const ended = async () => {
          const { done, stale, dead } = (await receiver.stats()).attempts;
          return done + stale + dead;
        };
        await expect.poll(ended, { timeout: 120_000, interval: 100 }).toBe(count);
        await receiver.close();
        expect((await effects()).toSorted()).toEqual(ids.toSorted());
        const again = [...attempts].filter(([, attempt]) => attempt > 1).map(([id]) => id);
        expect(again.toSorted()).toEqual(bad.toSorted());
        if (kind === "batches") return;
        const twice = [...runs].filter(([, times]) => times > 1).map(([id]) => id);
        expect(twice.toSorted()).toEqual(bad.toSorted());
      });
    },
    180_000,
  );
});
