import { setTimeout as pause } from "node:timers/promises";
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

/** What happens to one of so many events, beside others that are handled at once. */
interface Trouble {
  readonly every: number;
  readonly kind: "takes 150 ms" | "fails once";
}

type Transaction = { query(statement: string, values?: string[]): Promise<unknown> };

const bodyBytes = 1_024;
const eventsPerTask = 5;
const fillBatch = 256;

export const kitDrainers: Readonly<Record<string, CreateDrainer>> = {
  "kit-postgres": (options) => createPostgresDrainer(options, {}),
  "kit-postgres, one handler takes 150 ms": (options) =>
    createPostgresDrainer(options, {}, { every: Number.POSITIVE_INFINITY, kind: "takes 150 ms" }),
  "kit-postgres, 2 % fail once": (options) =>
    createPostgresDrainer(options, {}, { every: 50, kind: "fails once" }),
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
  trouble?: Trouble,
) {
  const pool = new pg.Pool({ connectionString: store, max: concurrency + 6 });
  if (writes) await pool.query(effectsTable);
  const drainer = createDrainer(
    postgresInbox(pool, options),
    writes && "INSERT INTO effects VALUES ($1, $2)",
    trouble,
  );
  return { ...drainer, stop: () => drainer.stop().then(() => pool.end()) };
}

async function createEffects(path: string): Promise<void> {
  const { default: Database } = await import("libsql");
  const database = new Database(path);
  database.exec(effectsTable);
  database.close();
}

function createDrainer(inbox: Inbox<Transaction>, insert: string | false, trouble?: Trouble): Drainer {
  const seen = new Set<string>();
  const inTrouble = new Set<string>();
  /** After the write. */
  const trip = async (id: string) => {
    if (!trouble) return;
    const isFirst = !seen.has(id);
    if (isFirst && seen.size % trouble.every === 0) inTrouble.add(id);
    seen.add(id);
    if (!inTrouble.has(id)) return;
    if (trouble.kind === "takes 150 ms") await pause(150);
    else if (isFirst) throw new Error("fails once");
  };
  const receiver: Receiver<Transaction> = createReceiver({
    ...{ secrets: [secret], inbox, concurrency },
    backlogMax: Number.MAX_SAFE_INTEGER,
    // What fails is repeated within the measurement.
    retry: { firstDelayMs: 10 },
    logger: silentLogger,
  });
  return {
    /** Five events of a task, which arrive some time after each other. */
    async fill(count) {
      const tasks = Math.ceil(count / eventsPerTask);
      for (let from = 0; from < count; from += fillBatch) {
        const indexes = Array.from({ length: Math.min(fillBatch, count - from) }, (_, index) => from + index);
        await Promise.all(
          indexes.map((index) =>
            receiver.accept({
              id: `msg_${count}_${index}`,
              timestamp: Math.floor(Date.now() / 1_000),
              body: sampleBody(bodyBytes, index, tasks),
              secretIndex: 0,
            }),
          ),
        );
      }
    },
    async start(onHandled) {
      receiver.on("*", async (event, { transaction }) => {
        if (insert) await transaction.query(insert, [String(event.id), String(event.occurredAt)]);
        await trip(String(event.id));
        onHandled();
      });
      await receiver.start();
    },
    stop: () => receiver.close(),
  };
}
