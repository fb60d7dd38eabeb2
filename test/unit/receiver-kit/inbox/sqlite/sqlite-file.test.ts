import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import Database from "libsql";
import { describe, expect, it } from "vitest";
import { sqliteInbox } from "workspace-tasks/receiver-kit/sqlite";

describe("the file of a SQLite inbox", () => {
  it("has large pages when the inbox makes it", async () => {
    await using file = await temporaryFile();
    await openAndClose(file.path);
    expect(pageBytes(file.path)).toBe(16_384);
  });

  it("keeps its pages and its rows when it was there before", async () => {
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
