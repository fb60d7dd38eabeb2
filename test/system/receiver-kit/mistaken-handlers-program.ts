// A receiver whose handlers contain mistakes, one per kind of event, and other events whose handlers have none. Prints what
// became of them as JSON. Arguments: the store (a file, or a URL of PostgreSQL), and the names of the mistakes.

import { setTimeout as pause } from "node:timers/promises";
import { createReceiver, type InboxRowReference } from "@workspace-tasks/receiver-kit";
import pg from "pg";
import type { InboxStore } from "../../../receiver-kit/inbox/inbox.ts";
import { runningAt } from "../../support/inbox-rows.ts";
import { postgresInbox, sqliteInbox } from "../../support/inbox-stores.ts";
import { secretA } from "../../support/signed-delivery.ts";

interface Transaction {
  query(statement: string, values?: (string | number)[]): Promise<unknown>;
  /** Of PostgreSQL. */
  client(): Promise<Client>;
  /** Of SQLite. */
  connection(): Promise<{ close(): void }>;
}

interface Client {
  query(statement: string | pg.Query, values?: string[] | Callback): Promise<unknown>;
  release(): void;
  end(): Promise<void>;
}

type Callback = (error: Error | null) => void;

const [store = "", names = ""] = process.argv.slice(2);
const isPostgres = store.startsWith("postgres://");
const pool = isPostgres ? new pg.Pool({ connectionString: store, max: 16 }) : undefined;
const inbox = (pool ? postgresInbox(pool) : sqliteInbox(store)) as InboxStore<Transaction>;
const mistakeNames = names.split(",");
const tasks = [...Array.from({ length: 24 }, (_, n) => `task-${n}`), ...mistakeNames];

type Write = (transaction: Transaction, effect: string) => Promise<unknown>;
const write: Write = (transaction, effect) =>
  transaction.query(`INSERT INTO effects VALUES (${isPostgres ? "$1" : "?"})`, [effect]);
const insertMissing = "INSERT INTO missing VALUES ('a value')";
const fail = ({ query }: Transaction) => query(insertMissing);
const sleep = (ms: number) => ({
  statement: isPostgres ? `SELECT pg_sleep(${ms / 1_000})` : "SELECT 1",
});

type Mistake = (transaction: Transaction, name: string) => unknown;
const insert = "INSERT INTO effects VALUES ($1)";
/** A handler that gets the client, and does something with it. */
const withClient =
  (use: (client: Client, name: string) => unknown): Mistake =>
  async (transaction, name) => {
    await use(await transaction.client(), name);
  };
/** A handler that does not await its own function. */
const notAwaiting =
  (save: Mistake): Mistake =>
  async (transaction, name) => {
    void save(transaction, name);
  };

/** Each writes `name` first, where it writes it at all, and `name again` second. */
const mistakes: Readonly<Record<string, Mistake>> = {
  async "only query"(transaction, name) {
    void write(transaction, name);
  },
  async "second query"(transaction, name) {
    await write(transaction, name);
    void write(transaction, `${name} again`);
  },
  async "throws in flight"(transaction, name) {
    void write(transaction, name);
    throw new Error("after the query was sent");
  },
  async "after return"(transaction, name) {
    setTimeout(() => transaction.query(`INSERT INTO effects VALUES ('${name}')`), 30);
  },
  "not async"(transaction, name) {
    void write(transaction, name);
  },
  async "two after return"(transaction, name) {
    await write(transaction, name);
    for (const delayMs of [10, 20]) setTimeout(() => write(transaction, `${name} again`), delayMs);
  },
  async "throws with two in flight"(transaction, name) {
    await Promise.all([fail(transaction), write(transaction, name)]);
  },
  async "four at once"(transaction, name) {
    await Promise.all([1, 2, 3, 4].map((n) => write(transaction, `${name} ${n}`)));
  },
  async fails(transaction) {
    void fail(transaction);
  },
  async "fails early"(transaction, name) {
    void fail(transaction);
    await pause(20);
    await write(transaction, name);
  },
  async "fails with finally"(transaction) {
    void fail(transaction).finally(() => {});
  },
  async "fails with then"(transaction, name) {
    void fail(transaction).then(() => write(transaction, name));
  },
  async "then fails"(transaction, name) {
    void write(transaction, name).then(() => fail(transaction));
  },
  function: notAwaiting(async (transaction, name) => {
    await write(transaction, name);
    await write(transaction, `${name} again`);
  }),
  async "fails frozen"(transaction) {
    void fail(Object.freeze(transaction));
  },
  async "frozen after return"(transaction, name) {
    Object.freeze(transaction);
    setTimeout(() => void write(transaction, name), 30);
  },
  async "no text"(transaction) {
    void transaction.query(undefined as never);
  },
  client: withClient((client, name) => void client.query(`INSERT INTO effects VALUES ('${name}')`)),
  "client four at once": withClient((client, name) =>
    Promise.all([1, 2, 3, 4].map((n) => client.query(insert, [`${name} ${n}`]))),
  ),
  "client fails": withClient((client) => void client.query(insertMissing)),
  "client after return": withClient((client, name) => {
    setTimeout(() => client.query(`INSERT INTO effects VALUES ('${name}')`), 30);
  }),
  "callback throws": withClient((client) => {
    void client.query("SELECT 1", () => {
      throw new Error("in the callback");
    });
  }),
  "callback throws after return": withClient((client) => {
    const onResult: Callback = (error) => {
      throw error;
    };
    setTimeout(() => client.query("SELECT 1", onResult), 30);
  }),
  "query object fails": withClient((client) => void client.query(new pg.Query(insertMissing))),
  "query object after return": withClient((client) => {
    setTimeout(() => client.query(new pg.Query("SELECT 1")), 30);
  }),
  "releases the client": withClient(async (client, name) => {
    await client.query(insert, [name]);
    client.release();
    await pause(30);
  }),
  "releases the client late": withClient(async (client, name) => {
    await client.query(insert, [name]);
    setTimeout(() => client.release(), 30);
  }),
  "ends the client": withClient(async (client, name) => {
    await client.query(insert, [name]);
    await client.end();
  }),
  async "closes the connection"(transaction, name) {
    const connection = await transaction.connection();
    await write(transaction, name);
    connection.close();
  },
  async "never settles"(transaction) {
    void transaction.query(sleep(60_000).statement);
  },
  async caught(transaction, name) {
    await fail(transaction).catch(() => {});
    await write(transaction, name);
  },
};

async function execute(statement: string): Promise<unknown[]> {
  if (pool) return (await pool.query(statement)).rows;
  const { loadSqliteDriver } = await import("../../../receiver-kit/inbox/sqlite/sqlite-driver.ts");
  const connection = (await loadSqliteDriver())(store);
  const rows = connection.query(statement);
  connection.close();
  return [...rows];
}

const warnings: object[] = [];
const dead: { id: string; message: string; code: unknown }[] = [];
const receiver = createReceiver<Transaction>({
  secrets: [secretA],
  inbox,
  retry: { attemptsMax: 2, firstDelayMs: 1, delayMsMax: 1 },
  handlerTimeoutMs: names.includes("never settles") ? 500 : 20_000,
  logger: {
    info() {},
    warn: (fields, message) => void (message.startsWith("a query was rejected") && warnings.push(fields)),
    error() {},
  },
  onDead({ id }: InboxRowReference, error) {
    const { message, code } = error as { message: string; code?: unknown };
    dead.push({ id, message, code });
  },
});
receiver.on("task.*", ({ taskId }, { transaction }) => {
  const mistake = mistakes[taskId];
  return mistake
    ? (mistake(transaction, taskId) as Promise<void>)
    : write(transaction, taskId).then(() => {});
});

await inbox.open();
await execute("CREATE TABLE effects (name text)");
await Promise.all(tasks.map((task, n) => inbox.insert(runningAt(task, n, { id: task }))));
await receiver.start();
for (;;) {
  const { attempts, running } = await receiver.stats();
  if (attempts.done + attempts.dead === tasks.length && running === 0) break;
  await pause(5);
}
// Until what was called after the end of a handler has been.
await pause(150);
const { lateQueries, attempts } = await receiver.stats();
const done = (await inbox.list({ states: ["done"], limit: 100 })).map(({ id }) => id).toSorted();
await receiver.close();
const effects = (await execute("SELECT name FROM effects ORDER BY name")) as { name: string }[];
await inbox.close();
await pool?.end();
console.log(
  JSON.stringify({ done, dead, effects: effects.map(({ name }) => name), lateQueries, attempts, warnings }),
);
