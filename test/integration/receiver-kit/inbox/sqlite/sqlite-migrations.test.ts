import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { loadSqliteDriver } from "../../../../../receiver-kit/inbox/sqlite/sqlite-driver.ts";
import { sqliteInbox } from "../../../../support/inbox-stores.ts";
import { describeSchemaVersions } from "../../../../support/schema-version-suite.ts";

describeSchemaVersions("SQLite inbox", async () => {
  const directory = await mkdtemp(path.join(tmpdir(), "workspace-tasks-sqlite-migrations-"));
  const file = path.join(directory, "inbox.db");
  const driver = await loadSqliteDriver();
  return {
    table: (name) => `workspace_tasks_${name}`,
    async execute(statement) {
      const connection = driver(file);
      try {
        return connection.query(statement);
      } finally {
        connection.close();
      }
    },
    async open() {
      const inbox = sqliteInbox(file);
      await inbox.open();
      return inbox;
    },
    [Symbol.asyncDispose]: () => rm(directory, { recursive: true }),
  };
});
