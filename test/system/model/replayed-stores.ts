// The inboxes on which runs of the model are replayed. Each is emptied before a run, and shows all that the model has.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Clock, MemoryTransaction } from "@workspace-tasks/receiver-kit";
import type { PostgresTransaction } from "@workspace-tasks/receiver-kit/postgres";
import type { SqliteTransaction } from "@workspace-tasks/receiver-kit/sqlite";
import type { Pool } from "pg";
import { type InboxStore, storeOf } from "../../../receiver-kit/inbox/inbox.ts";
import { importPatched } from "../../integration/simulation/patched-product.ts";
import { interceptSqlite } from "../../support/intercept-sqlite.ts";
import type * as Parts from "./replayed-parts.ts";

export interface StoredRow {
  readonly id: string;
  /** Null or the end; a row that waits is also queued. */
  readonly end: string | null;
  readonly attempts: number;
  /** `null`: it does not wait. */
  readonly dueAtMs: number | null;
}

export interface StoredKey {
  readonly name: string;
  readonly worker: string | null;
  readonly generation: number;
  readonly held: number;
  readonly suspects: number;
  readonly wakeAtMs: number | null;
  readonly head: string | null;
}

export interface StoredState {
  readonly rows: readonly StoredRow[];
  readonly keys: readonly StoredKey[];
  /** Ids of the events whose handlers' writes were kept. */
  readonly effects: readonly string[];
}

/** A store of one kind; each `open` returns an empty inbox. */
export interface ReplayedStore extends AsyncDisposable {
  open(clock: Clock): Promise<ReplayedInbox>;
}

export interface ReplayedInbox {
  readonly inbox: InboxStore;
  /** Writes in the transaction of a handler. */
  write(transaction: unknown, id: string): Promise<void>;
  read(): Promise<StoredState>;
  close(): Promise<void>;
}

export async function loadReplayedParts() {
  const options = { name: "replayed", patches: [], exposesPrivate: true };
  return importPatched<typeof Parts>("receiver-kit", options, "../test/system/model/replayed-parts.ts");
}

interface VisibleMemoryInbox {
  readonly private_rows: {
    readonly private_rows: ReadonlyMap<
      string,
      { readonly id: string; readonly state: string; readonly attempts: number; readonly dueAtMs: number }
    >;
  };
  readonly private_keys: {
    readonly private_byId: ReadonlyMap<
      number,
      Omit<StoredKey, "head" | "held"> & {
        readonly claimed: readonly unknown[];
        readonly head: { readonly position: string } | null;
      }
    >;
  };
}

export function memoryStore({ memoryInbox }: typeof Parts): ReplayedStore {
  return {
    async open(clock) {
      const inbox = memoryInbox({ clock });
      const { private_rows: rows, private_keys: keys } = inbox as unknown as VisibleMemoryInbox;
      const effects: string[] = [];
      return {
        inbox: storeOf<unknown>(inbox),
        write: async (transaction, id) => (transaction as MemoryTransaction).apply(() => effects.push(id)),
        async read() {
          return {
            rows: [...rows.private_rows.values()].map(({ id, state, attempts, dueAtMs }) => {
              const waits = state === "pending" || state === "running";
              return { id, attempts, end: waits ? null : state, dueAtMs: waits ? dueAtMs : null };
            }),
            keys: [...keys.private_byId.values()].map(({ wakeAtMs, head, claimed, ...key }) => ({
              ...key,
              held: claimed.length,
              wakeAtMs: Number.isFinite(wakeAtMs ?? 0) ? wakeAtMs : null,
              head: head?.position ?? null,
            })),
            effects,
          };
        },
        async close() {},
      };
    },
    async [Symbol.asyncDispose]() {},
  };
}

const tableNames = ["deliveries", "bodies", "ordering_keys", "queue", "marks", "effects"];
const rowsQuery = (prefix: string) => `
  SELECT webhook_id, outcome, deliveries.attempts, queue.attempts AS queued_attempts, queue.due_at
  FROM ${prefix}deliveries AS deliveries LEFT JOIN ${prefix}queue AS queue ON queue.seq = deliveries.seq`;
const keysQuery = (prefix: string) => `
  SELECT order_key, worker, generation, held, suspects, wake_at, position FROM ${prefix}ordering_keys`;
const effectsQuery = (prefix: string) => `SELECT name FROM ${prefix}effects`;

type SqlRow = Readonly<Record<string, unknown>>;

const textOf = (value: unknown) => (value === null ? null : String(value));
const numberOf = (value: unknown) => (value === null ? null : Number(value));

/** A row that is not queued and has no end is done; nothing is recorded where the first attempt ended well. */
function storedState(
  rows: readonly SqlRow[],
  keys: readonly SqlRow[],
  effects: readonly SqlRow[],
): StoredState {
  return {
    rows: rows.map((row) => {
      const dueAtMs = numberOf(row["due_at"]);
      const ended = textOf(row["outcome"]) ?? "done";
      const attempts = numberOf(dueAtMs === null ? row["attempts"] : row["queued_attempts"]);
      return {
        id: String(row["webhook_id"]),
        dueAtMs,
        end: dueAtMs === null ? ended : null,
        attempts: attempts ?? 1,
      };
    }),
    keys: keys.map((key) => ({
      name: String(key["order_key"]),
      worker: textOf(key["worker"]),
      generation: Number(key["generation"]),
      held: Number(key["held"]),
      suspects: Number(key["suspects"]),
      wakeAtMs: numberOf(key["wake_at"]),
      head: textOf(key["position"]),
    })),
    effects: effects.map(({ name }) => String(name)),
  };
}

/** One file, whose tables are emptied before each run. Syncs are off: no machine crashes here. */
export async function sqliteStore({ sqliteInbox, loadSqliteDriver }: typeof Parts): Promise<ReplayedStore> {
  const folder = mkdtempSync(join(tmpdir(), "workspace-tasks-model-"));
  const file = join(folder, "inbox.db");
  const openFile = await loadSqliteDriver();
  const prefix = "workspace_tasks_";
  const connection = openFile(file);
  const first = sqliteInbox({ path: file });
  await first.open();
  await first.close();
  connection.exec(`CREATE TABLE ${prefix}effects (name TEXT)`);
  const empty = tableNames.map((name) => `DELETE FROM ${prefix}${name};`).join(" ");
  const shared = interceptSqlite(openFile(file), (_, call) => call());
  shared.exec("PRAGMA synchronous = OFF");
  const driver = () => ({ ...shared, close() {} });
  return {
    async open(clock) {
      connection.exec(`BEGIN; ${empty} COMMIT`);
      const inbox = sqliteInbox({ path: file, driver, clock });
      await inbox.open();
      return {
        inbox: storeOf<unknown>(inbox),
        async write(transaction, id) {
          await (transaction as SqliteTransaction).query(`INSERT INTO ${prefix}effects VALUES (?)`, [id]);
        },
        read: async () =>
          storedState(
            connection.queryPrepared(rowsQuery(prefix)),
            connection.queryPrepared(keysQuery(prefix)),
            connection.queryPrepared(effectsQuery(prefix)),
          ),
        close: () => inbox.close(),
      };
    },
    async [Symbol.asyncDispose]() {
      connection.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** One schema, whose tables are emptied before each run. */
export async function postgresStore({ postgresInbox }: typeof Parts, pool: Pool): Promise<ReplayedStore> {
  const prefix = "workspace_tasks.";
  const first = postgresInbox(pool);
  await first.open();
  await first.close();
  await pool.query(`CREATE TABLE IF NOT EXISTS ${prefix}effects (name text)`);
  return {
    async open(clock) {
      await pool.query(tableNames.map((name) => `DELETE FROM ${prefix}${name}`).join("; "));
      const inbox = postgresInbox(pool, { clock });
      await inbox.open();
      return {
        inbox: storeOf<unknown>(inbox),
        async write(transaction, id) {
          await (transaction as PostgresTransaction).query(`INSERT INTO ${prefix}effects VALUES ($1)`, [id]);
        },
        async read() {
          const [rows, keys, effects] = await Promise.all(
            [rowsQuery, keysQuery, effectsQuery].map((query) => pool.query(query(prefix))),
          );
          return storedState(rows?.rows ?? [], keys?.rows ?? [], effects?.rows ?? []);
        },
        close: () => inbox.close(),
      };
    },
    async [Symbol.asyncDispose]() {},
  };
}
