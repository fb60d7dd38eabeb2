import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { createVirtualClock } from "workspace-tasks/mock-server";
import { type SqliteTransaction, sqliteInbox } from "workspace-tasks/receiver-kit/sqlite";
import { describeInbox, type InboxFixture } from "../../../../support/inbox-suite.ts";

describeInbox("SQLite inbox", async (): Promise<InboxFixture> => {
  const directory = await mkdtemp(path.join(tmpdir(), "workspace-tasks-sqlite-"));
  const clock = createVirtualClock();
  const opened: { close(): Promise<void> }[] = [];
  const open = async () => {
    const inbox = sqliteInbox({ path: path.join(directory, "inbox.db"), clock });
    await inbox.open();
    opened.push(inbox);
    return inbox;
  };
  const inbox = await open();
  const createTable = "CREATE TABLE IF NOT EXISTS effects (name TEXT)";
  return {
    inbox,
    clock,
    reopen: open,
    effects: {
      async write(transaction, name) {
        const { query } = transaction as SqliteTransaction;
        await query(createTable);
        await query("INSERT INTO effects (name) VALUES (?)", [name]);
      },
      async kept() {
        const { loadSqliteDriver } = await import(
          "../../../../../receiver-kit/inbox/sqlite/sqlite-driver.ts"
        );
        const connection = (await loadSqliteDriver())(path.join(directory, "inbox.db"));
        connection.exec(createTable);
        const rows = connection.query("SELECT name FROM effects ORDER BY rowid");
        connection.close();
        return rows.map((row) => String(row["name"]));
      },
    },
    async [Symbol.asyncDispose]() {
      for (const each of opened) await each.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
});
