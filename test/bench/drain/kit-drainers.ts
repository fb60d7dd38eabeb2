import { createReceiver, type Inbox, type Receiver, silentLogger } from "@workspace-tasks/receiver-kit";
import { type PostgresInboxOptions, postgresInbox } from "@workspace-tasks/receiver-kit/postgres";
import { sqliteInbox } from "@workspace-tasks/receiver-kit/sqlite";
import pg from "pg";
import { sampleBody, secret } from "../sample-delivery.ts";
import {
  type CreateDrainer,
  concurrency,
  type Drainer,
  type DrainerOptions,
  effectsTable,
} from "./drainer.ts";

/** What an application may have besides. */
interface Surroundings {
  /** The pool has a listener that sends something, as those of telemetry and of `SET search_path` do. */
  readonly listens?: boolean;
  readonly table?: "trigger" | "deferrable";
  /** The handler has a statement before its write. */
  readonly readsFirst?: boolean;
  /** One handler of so many fails once. */
  readonly failsEvery?: number;
  /** The handler gets up to 100 events. */
  readonly inBatches?: boolean;
  /** Each event is stored when the one before was handled. */
  readonly isLive?: boolean;
}

type Transaction = { query(statement: string, values?: never[]): Promise<unknown> };

const insertAll = "INSERT INTO effects SELECT * FROM unnest($1::text[], $2::text[])";

const bodyBytes = 1_024;
const eventsPerTask = 5;
const fillBatch = 256;

export const kitDrainers: Readonly<Record<string, CreateDrainer>> = {
  "kit-postgres": (options) => createPostgresDrainer(options, {}, {}),
  "kit-postgres, a listener on the pool": (options) => createPostgresDrainer(options, {}, { listens: true }),
  "kit-postgres, a trigger": (options) => createPostgresDrainer(options, {}, { table: "trigger" }),
  "kit-postgres, a deferrable constraint": (options) =>
    createPostgresDrainer(options, {}, { table: "deferrable" }),
  "kit-postgres, two statements": (options) => createPostgresDrainer(options, {}, { readsFirst: true }),
  "kit-postgres, not prepared": (options) => createPostgresDrainer(options, { prepare: false }, {}),
  "kit-postgres, batches": (options) => createPostgresDrainer(options, {}, { inBatches: true }),
  "kit-postgres, live": (options) => createPostgresDrainer(options, {}, { isLive: true }),
  "kit-postgres, 2 % fail once": (options) => createPostgresDrainer(options, {}, { failsEvery: 50 }),
  "kit-sqlite": async ({ store, writes }) => {
    const inbox = sqliteInbox(store);
    const drainer = createDrainer(inbox, writes && "INSERT INTO effects VALUES (?, ?)");
    if (writes) await createEffects(store);
    return drainer;
  },
};

async function createPostgresDrainer(
  { store, writes }: DrainerOptions,
  options: PostgresInboxOptions,
  surroundings: Surroundings,
) {
  const pool = new pg.Pool({ connectionString: store, max: concurrency + 6 });
  if (surroundings.listens) pool.on("connect", (client) => void client.query("SET search_path = public"));
  if (writes) await pool.query(effectsTable);
  if (surroundings.table) await pool.query(tableParts[surroundings.table]);
  const insert = writes && "INSERT INTO effects VALUES ($1, $2)";
  const drainer = createDrainer(postgresInbox(pool, options), insert, surroundings);
  return { ...drainer, stop: () => drainer.stop().then(() => pool.end()) };
}

const tableParts = {
  trigger: `CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.at := NEW.at || ''; RETURN NEW; END $$;
    CREATE TRIGGER note BEFORE INSERT ON effects FOR EACH ROW EXECUTE FUNCTION note()`,
  deferrable: "ALTER TABLE effects ADD CONSTRAINT once UNIQUE (id) DEFERRABLE INITIALLY DEFERRED",
};

async function createEffects(path: string): Promise<void> {
  const { default: Database } = await import("libsql");
  const database = new Database(path);
  database.exec(effectsTable);
  database.close();
}

function createDrainer(
  inbox: Inbox<Transaction>,
  insert: string | false,
  { readsFirst, failsEvery, inBatches, isLive }: Surroundings = {},
): Drainer {
  const seen = new Set<string>();
  /** After the write. */
  const trip = (id: string) => {
    if (failsEvery === undefined || seen.has(id)) return;
    seen.add(id);
    if (seen.size % failsEvery === 0) throw new Error("fails once");
  };
  let stored = 0;
  let handled = 0;
  const accept = (index: number, count: number) =>
    receiver.accept({
      id: `msg_${count}_${index}`,
      timestamp: Math.floor(Date.now() / 1_000),
      body: sampleBody(bodyBytes, index, Math.ceil(count / eventsPerTask)),
      secretIndex: 0,
    });
  const receiver: Receiver<Transaction> = createReceiver({
    secrets: [secret],
    inbox,
    concurrency,
    backlogMax: Number.MAX_SAFE_INTEGER,
    // What fails is repeated within the measurement.
    retry: { firstDelayMs: 10 },
    logger: silentLogger,
  });
  return {
    /** Five events of a task, which arrive some time after each other. */
    async fill(count) {
      stored = count;
      if (isLive) return;
      for (let from = 0; from < count; from += fillBatch) {
        const indexes = Array.from({ length: Math.min(fillBatch, count - from) }, (_, index) => from + index);
        await Promise.all(indexes.map((index) => accept(index, count)));
      }
    },
    async start(onHandled) {
      const onOne = () => {
        handled += 1;
        onHandled();
        if (isLive && handled < stored) setImmediate(() => void accept(handled, stored));
      };
      if (inBatches) {
        receiver.onBatch("task.*", async (items, { transaction }) => {
          const ids = items.map(({ event }) => String(event.id));
          const times = items.map(({ event }) => String(event.occurredAt));
          await transaction.query(insertAll, [ids, times] as never[]);
          for (const _ of items) onOne();
        });
      } else {
        receiver.on("task.*", async (event, { transaction }) => {
          const id = String(event.id);
          if (readsFirst)
            await transaction.query("SELECT at FROM effects WHERE id = $1 LIMIT 1", [id] as never[]);
          if (insert) await transaction.query(insert, [id, String(event.occurredAt)] as never[]);
          trip(id);
          onOne();
        });
      }
      await receiver.start();
      if (isLive) await accept(0, stored);
    },
    stop: () => receiver.close(),
  };
}
