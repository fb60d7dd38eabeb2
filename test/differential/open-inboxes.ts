import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { memoryInbox } from "../../receiver-kit/inbox/memory/memory-inbox.ts";
import { postgresInbox } from "../../receiver-kit/postgres.ts";
import { sqliteInbox } from "../../receiver-kit/sqlite.ts";
import { FrozenClock } from "../support/frozen-clock.ts";
import { PostgresServer } from "../support/postgres.ts";
import type { ComparedInboxes, NamedInbox } from "./compare-inbox.ts";

export type OpenInboxes = ComparedInboxes & AsyncDisposable;

/** New, empty inboxes with one clock. */
export async function openInboxes({ withPostgres = false } = {}): Promise<OpenInboxes> {
  const clock = new FrozenClock(Date.UTC(2026, 0, 15, 12));
  const folder = mkdtempSync(join(tmpdir(), "workspace-tasks-differential-"));
  const server = withPostgres ? await PostgresServer.start() : undefined;
  const pool = (await server?.database())?.pool();
  const inboxes: readonly NamedInbox[] = [
    { name: "memory", inbox: memoryInbox({ clock, rowsMax: 1_000_000 }) },
    { name: "SQLite", inbox: sqliteInbox({ path: join(folder, "inbox.db"), clock }) },
    ...(pool ? [{ name: "PostgreSQL", inbox: postgresInbox(pool, { clock }) }] : []),
  ];
  for (const { inbox } of inboxes) await inbox.open();
  return {
    clock,
    inboxes,
    async [Symbol.asyncDispose]() {
      for (const { inbox } of inboxes) await inbox.close();
      await pool?.end();
      await server?.[Symbol.asyncDispose]();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
