import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import Database from "libsql";
import { describe, expect, it } from "vitest";
import { createReceiver, silentLogger } from "workspace-tasks/receiver-kit";
import { sqliteInbox } from "workspace-tasks/receiver-kit/sqlite";
import { secretA } from "../../../../support/signed-delivery.ts";

describe("the file of a SQLite inbox", () => {
  it("has pages of 2 KB when the inbox created it", async () => {
    await using file = await temporaryFile();
    await openAndClose(file.path);
    expect(pageBytes(file.path)).toBe(2_048);
  });

  it("keeps its page size and its rows when it existed before", async () => {
    await using file = await temporaryFile();
    const application = new Database(file.path);
    application.exec("CREATE TABLE orders (number INTEGER); INSERT INTO orders VALUES (7)");
    application.close();
    await openAndClose(file.path);
    expect(pageBytes(file.path)).toBe(4_096);
    const reopened = new Database(file.path);
    expect(reopened.prepare("SELECT number FROM orders").all([])).toEqual([{ number: 7 }]);
    reopened.close();
  });
});

it("a receiver whose SQLite file cannot be opened names the file", async () => {
  const inbox = sqliteInbox("/no/such/folder/webhooks.db");
  await using receiver = createReceiver({ secrets: [secretA], inbox, logger: silentLogger });
  await expect(receiver.start()).rejects.toMatchObject({
    code: "INBOX_OPEN_FAILED",
    message: expect.stringContaining('cannot open "/no/such/folder/webhooks.db"; expected a file'),
  });
});

async function openAndClose(filePath: string): Promise<void> {
  const inbox = sqliteInbox(filePath);
  await inbox.open();
  await inbox.close();
}

function pageBytes(filePath: string): unknown {
  const database = new Database(filePath);
  const [row] = database.prepare("PRAGMA page_size").all([]) as { page_size: number }[];
  database.close();
  return row?.page_size;
}

async function temporaryFile() {
  const directory = await mkdtemp(path.join(tmpdir(), "workspace-tasks-sqlite-file-"));
  return {
    path: path.join(directory, "inbox.db"),
    [Symbol.asyncDispose]: () => rm(directory, { recursive: true, force: true }),
  };
}
