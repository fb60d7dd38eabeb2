import { deferred } from "@workspace-tasks/kernel/deferred.ts";
import { type PostgresPoolClient, postgresJournal } from "@workspace-tasks/sdk";
import { expect, it } from "vitest";
import { openJournal } from "../../../support/memory-journal.ts";

it("a journal that is closed while it waits for a connection of the pool gives the connection back", async () => {
  const events: string[] = [];
  const connection: PostgresPoolClient = {
    async query({ text }) {
      events.push(text);
      return { rows: [{ is_locked: true }] };
    },
    on: () => {},
    release: () => void events.push("release"),
  };
  const waiting = deferred<PostgresPoolClient>();
  const journal = postgresJournal({ connect: () => waiting.promise }, "import");
  const opened = openJournal(journal);
  await journal.close();
  waiting.resolve(connection);
  await expect(opened).rejects.toThrow("it was closed while it waited for a connection");
  expect(events).toEqual(["release"]);
});
