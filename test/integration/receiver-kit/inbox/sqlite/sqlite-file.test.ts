import { spawnSync } from "node:child_process";
import { statSync, truncateSync } from "node:fs";
import { chmod, chown, copyFile, mkdir, mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { createReceiver, silentLogger } from "@workspace-tasks/receiver-kit";
import type { SqliteOpener, SqliteTransaction } from "@workspace-tasks/receiver-kit/sqlite";
import Database from "libsql";
import { describe, expect, it, vi } from "vitest";
import type { HandlerTransaction, InboxStore } from "../../../../../receiver-kit/inbox/inbox.ts";
import { loadSqliteDriver } from "../../../../../receiver-kit/inbox/sqlite/sqlite-driver.ts";
import { claimOptions, doneWith, runningAt } from "../../../../support/inbox-rows.ts";
import { sqliteInbox } from "../../../../support/inbox-stores.ts";
import { interceptSqlite } from "../../../../support/intercept-sqlite.ts";
import { secretA } from "../../../../support/signed-delivery.ts";

const isPosix = process.platform !== "win32";

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

describe("the files of a SQLite inbox", () => {
  it.runIf(isPosix)("are created for their owner only, whatever the umask", async () => {
    await using file = await temporaryFile();
    const inbox = sqliteInbox(file.path);
    await inbox.open();
    await inbox.insert(runningAt("task-1", 1));
    expect(["", "-wal", "-shm"].map((suffix) => modeOf(`${file.path}${suffix}`))).toEqual([
      ...["600", "600", "600"],
    ]);
    await inbox.close();
  });

  it.runIf(isPosix).each([
    [0o640, "640"],
    [0o644, "600"],
    [0o666, "600"],
    [0o660, "660"],
  ])(
    "of mode %o are closed to others than the owner, and the group where others had no part",
    async (before, after) => {
      await using file = await temporaryFile();
      await writeFile(file.path, "");
      await chmod(file.path, before);
      await openAndClose(file.path);
      expect(modeOf(file.path)).toBe(after);
    },
  );

  it.runIf(isPosix)(
    "that all users could read are closed with a warning, unless they had no inbox yet",
    async () => {
      await using file = await temporaryFile();
      const warned = vi.spyOn(process, "emitWarning").mockImplementation(() => {});
      // As an application does that has tables of its own in the file.
      const application = new Database(file.path);
      application.exec("CREATE TABLE own (id text)");
      application.close();
      await chmod(file.path, 0o644);
      await openAndClose(file.path);
      expect([modeOf(file.path), warned.mock.calls]).toEqual(["600", []]);
      await chmod(file.path, 0o644);
      await openAndClose(file.path);
      expect([modeOf(file.path), warned.mock.calls]).toEqual([
        "600",
        [[expect.stringContaining("was open to all users"), { code: "WORKSPACE_TASKS_FILE_OPEN" }]],
      ]);
      warned.mockRestore();
    },
  );

  it.runIf(isPosix)("are no pipe and no device, whose mode stays", async () => {
    await using file = await temporaryFile();
    spawnSync("mkfifo", ["-m", "666", file.path]);
    await expect(sqliteInbox(file.path).open()).rejects.toMatchObject({ code: "INBOX_OPEN_FAILED" });
    expect(modeOf(file.path)).toBe("666");
  });

  it.runIf(isPosix && process.getuid?.() === 0).each(["", "-wal"])(
    "are not used when another user has created the file%s",
    async (suffix) => {
      await using file = await temporaryFile();
      await openAndClose(file.path);
      await writeFile(`${file.path}${suffix}`, "", { flag: "a" });
      await chown(`${file.path}${suffix}`, 4_242, 4_242);
      const getuid = vi.spyOn(process, "getuid").mockReturnValue(1_234);
      const opened = expect(sqliteInbox(file.path).open()).rejects;
      await opened.toMatchObject({
        code: "INBOX_OPEN_FAILED",
        message: expect.stringContaining(`${suffix}" belongs to another user (4242); give it to the user`),
      });
      getuid.mockRestore();
    },
  );

  it("are one complete file once every process has closed it", async () => {
    await using file = await temporaryFile();
    const [first, last] = [sqliteInbox(file.path), sqliteInbox(file.path)];
    for (const inbox of [first, last]) await inbox.open();
    for (let n = 0; n < 20; n++) await first.insert(runningAt(`task-${n}`, 1));
    await first.close();
    for (let n = 20; n < 40; n++) await last.insert(runningAt(`task-${n}`, 1));
    await last.close();
    await copyFile(file.path, `${file.path}.copy`);
    expect(await rowsIn(`${file.path}.copy`)).toBe(40);
  });

  it("are copied by VACUUM INTO while the receiver stores deliveries", async () => {
    await using file = await temporaryFile();
    const inbox = sqliteInbox(file.path);
    await inbox.open();
    for (let n = 0; n < 20; n++) await inbox.insert(runningAt(`task-${n}`, 1));
    const inserted = inbox.insert(runningAt("task-20", 1));
    const operator = new Database(file.path);
    operator.prepare("VACUUM INTO ?").run([`${file.path}.backup`]);
    operator.close();
    await inserted;
    await inbox.close();
    expect(await rowsIn(`${file.path}.backup`)).toBeGreaterThanOrEqual(20);
    expect(await rowsIn(file.path)).toBe(21);
  });
});

describe("opening the file of a SQLite inbox", () => {
  const opening = (options: Parameters<typeof sqliteInbox>[0]) => sqliteInbox(options).open();

  it("fails with the path and the missing directory, and the receiver with it", async () => {
    const inbox = sqliteInbox("/no/such/folder/webhooks.db");
    await using receiver = createReceiver({ secrets: [secretA], inbox, logger: silentLogger });
    await expect(receiver.start()).rejects.toMatchObject({
      code: "INBOX_OPEN_FAILED",
      message:
        'sqlite inbox: cannot open "/no/such/folder/webhooks.db": the directory "/no/such/folder" does not exist; create it, or correct the path',
    });
  });

  it("fails with the path of a file that is not a database, and leaves the file as it is", async () => {
    await using file = await temporaryFile();
    const text = "Dear diary, ".repeat(100);
    await writeFile(file.path, text);
    const failed = expect(opening(file.path)).rejects;
    await failed.toMatchObject({ code: "INBOX_OPEN_FAILED" });
    await expect(opening(file.path)).rejects.toThrow(
      `cannot open ${JSON.stringify(file.path)}: it is not a SQLite database, or it is damaged or encrypted (file is not a database); restore a backup by workspace-tasks-inbox restore`,
    );
    expect(await readFile(file.path, "utf8")).toBe(text);
  });

  it.each([
    [":memory:", "use memoryInbox(), which is for tests"],
    ["file::memory:?cache=shared", "use memoryInbox(), which is for tests"],
    ["file:webhooks.db?mode=memory", "use memoryInbox(), which is for tests"],
    ["file:webhooks.db?mode=rwc", 'write "webhooks.db"'],
    ["file:///data/webhooks.db", 'write "/data/webhooks.db"'],
    ["libsql://example.turso.io", "a database on a server cannot be used"],
    ['"webhooks.db"', "remove the quotes around it, which docker --env-file keeps"],
    ["webhooks.db ", "remove the spaces around it, and null characters"],
  ])("is refused for %j, which is no path of a file", (name, instead) => {
    expect(() => sqliteInbox(name)).toThrow(
      `sqliteInbox: path: expected the path of a file, got ${JSON.stringify(name)}: ${instead}`,
    );
  });

  it("uses the same file after a change of the working directory", async () => {
    await using file = await temporaryFile();
    const before = process.cwd();
    process.chdir(path.dirname(file.path));
    const inbox = sqliteInbox("inbox.db");
    await inbox.open();
    process.chdir(before);
    expect(await inbox.insert(runningAt("task-1", 1))).toEqual({ outcome: "new" });
    await inbox.close();
    expect(await rowsIn(file.path)).toBe(1);
  });

  it("fails with the path of a directory", async () => {
    await using file = await temporaryFile();
    await mkdir(file.path);
    await expect(opening(file.path)).rejects.toThrow("it is a directory; expected a file");
  });

  it.each([
    ["SQLITE_READONLY", "may not be written; remount the file system for writing"],
    ["SQLITE_CANTOPEN", "permission denied; let the user of this process read and write"],
    ["SQLITE_FULL", "the disk is full; free some of it"],
    ["SQLITE_OTHER", "the driver's own message"],
  ])("fails on %s with a remedy", async (code, remedy) => {
    await using file = await temporaryFile();
    const driver = () => {
      throw Object.assign(new Error("the driver's own message"), { code });
    };
    await expect(opening({ path: file.path, driver })).rejects.toThrow(remedy);
  });
});

it("a closed inbox is not opened by what still uses it, and one that is opened while it closes stays open", async () => {
  await using file = await temporaryFile();
  const opener = await loadSqliteDriver();
  let opened = 0;
  const driver: SqliteOpener = (name, options) => {
    if (!options?.isReadOnly) opened += 1;
    return opener(name, options);
  };
  const inbox = sqliteInbox({ path: file.path, driver });
  await inbox.open();
  await inbox.close();
  await expect(inbox.list({})).rejects.toMatchObject({ code: "INBOX_UNAVAILABLE" });
  expect(opened).toBe(1);
  await inbox.open();
  const closed = inbox.close();
  await inbox.open();
  await closed;
  expect(await inbox.list({})).toEqual([]);
  expect(opened).toBe(2);
  await inbox.close();
});

it("the inbox says what the result of a driver function lacks, such as a database of a package", async () => {
  await using file = await temporaryFile();
  const opening = (returned: unknown) =>
    sqliteInbox({ path: file.path, driver: () => returned as never }).open();
  const expected = "driver: expected the function to return a SqliteConnection, got";
  const database = { exec() {}, prepare() {}, close() {} };
  await expect(opening(database)).rejects.toThrow(`${expected} an object without the method query`);
  await expect(opening(Promise.resolve())).rejects.toThrow(`${expected} a Promise without the method exec`);
});

describe("a damaged SQLite file", () => {
  it.each([
    ["a statement of the inbox", (inbox: InboxStore) => inbox.list({})],
    ["a statement of a handler", fails],
  ])("is not written any more once %s has found it, until a restart", async (_, find) => {
    await using file = await temporaryFile();
    const opener = await loadSqliteDriver();
    let isDamaged = false;
    const driver: SqliteOpener = (name, options) =>
      interceptSqlite(opener(name, options), (statement, call) => {
        if (isDamaged && /FROM/.test(statement))
          throw Object.assign(new Error("malformed"), { code: "SQLITE_CORRUPT" });
        return call();
      });
    const inbox = sqliteInbox({ path: file.path, driver });
    await inbox.open();
    await inbox.insert(runningAt("task-1", 1));
    isDamaged = true;
    const damaged = {
      code: "INBOX_FILE_DAMAGED",
      message: expect.stringContaining("workspace-tasks-inbox restore"),
    };
    await expect(find(inbox)).rejects.toMatchObject(damaged);
    isDamaged = false;
    await expect(inbox.insert(runningAt("task-2", 1))).rejects.toMatchObject(damaged);
    await expect(inbox.list({})).rejects.toMatchObject(damaged);
    await inbox.close();
    await inbox.open();
    expect(await inbox.insert(runningAt("task-2", 1))).toEqual({ outcome: "new" });
    await inbox.close();
  });

  it("is noticed when its -wal was emptied, before anything of the next commit is acknowledged", async () => {
    await using file = await temporaryFile();
    const inbox = sqliteInbox(file.path);
    await inbox.open();
    for (let n = 0; n < 20; n++) await inbox.insert(runningAt(`task-${n}`, 1));
    await writeFile(`${file.path}-wal`, "");
    await expect(inbox.insert(runningAt("late", 1))).rejects.toMatchObject({
      code: "INBOX_FILE_DAMAGED",
      message: expect.stringContaining("its -wal was emptied"),
    });
    await inbox.close();
  });

  it("is used on when another process made a checkpoint, or VACUUM", async () => {
    await using file = await temporaryFile();
    const inbox = sqliteInbox(file.path);
    await inbox.open();
    await inbox.insert(runningAt("task-1", 1));
    const operator = new Database(file.path);
    for (const statement of ["PRAGMA wal_checkpoint(PASSIVE)", "VACUUM", "PRAGMA wal_checkpoint"]) {
      operator.exec(statement);
      expect(await inbox.insert(runningAt(`task ${statement}`, 1, { id: statement }))).toEqual({
        outcome: "new",
      });
    }
    operator.close();
    await inbox.close();
  });

  it.each([
    ["commit", /^COMMIT/],
    ["checkpoint", /wal_checkpoint/],
  ])("is noticed when it is cut during a %s, before anything of it is acknowledged", async (_, during) => {
    await using file = await temporaryFile();
    let nextId = 0;
    const insert = (inbox: InboxStore) =>
      inbox.insert(runningAt(`task-${++nextId}`, 1, { body: Buffer.alloc(300_000) }));
    const before = sqliteInbox(file.path);
    await before.open();
    for (let n = 0; n < 20; n++) await insert(before);
    await before.close();
    const opener = await loadSqliteDriver();
    let isArmed = false;
    const driver: SqliteOpener = (name, options) =>
      interceptSqlite(opener(name, options), (statement, call) => {
        if (isArmed && during.test(statement)) {
          isArmed = false;
          truncateSync(file.path, 20_000);
        }
        return call();
      });
    const inbox = sqliteInbox({ path: file.path, driver });
    await inbox.open();
    isArmed = true;
    const insertUntilCut = async () => {
      // The -wal is full after 28 of them.
      for (let n = 0; n < 60 && isArmed; n++) await insert(inbox);
    };
    await expect(insertUntilCut()).rejects.toMatchObject({ code: "INBOX_FILE_DAMAGED" });
    expect(isArmed).toBe(false);
    await inbox.close();
  });

  it.each([
    ["is damaged when a backup was copied over it, which fits what is written next", true],
    ["is used on when only a checkpoint was made", false],
  ])("%s", async (_, isOverwritten) => {
    await using file = await temporaryFile();
    const inbox = sqliteInbox(file.path);
    await inbox.open();
    const other = new Database(file.path);
    const checkpoint = () => other.exec("PRAGMA wal_checkpoint(TRUNCATE)");
    for (let n = 0; n < 3; n++) await inbox.insert(runningAt(`task-${n}`, 1));
    checkpoint();
    await copyFile(file.path, `${file.path}.backup`);
    for (let n = 3; n < 6; n++) await inbox.insert(runningAt(`task-${n}`, 1));
    checkpoint();
    other.close();
    if (isOverwritten) await copyFile(`${file.path}.backup`, file.path);
    // A commit without a row, such as of a handler.
    const committed = inbox.writeMarks("default", { noted: "1" });
    if (isOverwritten) await expect(committed).rejects.toMatchObject({ code: "INBOX_FILE_DAMAGED" });
    else await committed;
    await inbox.close();
  });

  it("gets few checkpoints while another process reads it, is short again afterwards, and whole in the end", async () => {
    await using file = await temporaryFile();
    const opener = await loadSqliteDriver();
    let checkpoints = 0;
    const driver: SqliteOpener = (name, options) =>
      interceptSqlite(opener(name, options), (statement, call) => {
        if (statement.includes("wal_checkpoint(PASSIVE)")) checkpoints += 1;
        return call();
      });
    const inbox = sqliteInbox({ path: file.path, driver });
    await inbox.open();
    const reader = new Database(file.path);
    reader.exec("BEGIN; SELECT count(*) FROM workspace_tasks_deliveries");
    // 24 MB in 80 commits.
    for (let n = 1; n <= 80; n++)
      await inbox.insert(runningAt(`task-${n}`, 1, { body: Buffer.alloc(300_000) }));
    expect(checkpoints).toBeGreaterThan(5);
    expect(checkpoints).toBeLessThan(25);
    const wal = `${file.path}-wal`;
    expect(statSync(wal).size).toBeGreaterThan(24_000_000);
    reader.exec("COMMIT");
    reader.close();
    for (let n = 81; n <= 90; n++)
      await inbox.insert(runningAt(`task-${n}`, 1, { body: Buffer.alloc(300_000) }));
    expect(statSync(wal).size).toBeLessThan(9_000_000);
    await inbox.close();
    expect(await rowsIn(file.path)).toBe(90);
  });

  it("of which rows are missing in an index is found at opening, however large it is", async () => {
    await using file = await temporaryFile();
    const inbox = sqliteInbox(file.path);
    await inbox.open();
    await inbox.insert(runningAt("task-1", 1));
    await inbox.close();
    const operator = new Database(file.path);
    operator.exec("DELETE FROM workspace_tasks_ordering_keys");
    operator.close();
    await expect(inbox.open()).rejects.toMatchObject({
      code: "INBOX_OPEN_FAILED",
      message: expect.stringContaining("rows are not found by their ids"),
    });
  });
});

async function fails(inbox: InboxStore): Promise<unknown> {
  const [claim] = (await inbox.claim(claimOptions())).claims;
  const begun = inbox.begin([{ claim: claim!, settlement: doneWith(claim!) }], {
    timeoutMs: 1_000,
  }) as HandlerTransaction<SqliteTransaction>;
  return begun.handle.query("SELECT * FROM workspace_tasks_queue");
}

describe("a SQLite file that is deleted or replaced while it is open", () => {
  it.each([["deleted"], ["replaced"]])(
    "is noticed when it is %s, and accepted again when it is back",
    async (change) => {
      await using file = await temporaryFile();
      const inbox = sqliteInbox(file.path);
      await inbox.open();
      await inbox.insert(runningAt("task-1", 1));
      await rename(file.path, `${file.path}.away`);
      if (change === "replaced") await writeFile(file.path, "");
      const lost = {
        code: "INBOX_FILE_LOST",
        message: expect.stringContaining(`was ${change} while it was open`),
      };
      await expect(inbox.insert(runningAt("task-2", 1))).rejects.toMatchObject(lost);
      await expect(inbox.insert(runningAt("task-3", 1))).rejects.toMatchObject(lost);
      // The minutely sign of life notices it when no delivery arrives.
      await expect(inbox.writeMarks("default", { beat: "1" })).rejects.toMatchObject(lost);
      await rename(`${file.path}.away`, file.path);
      expect(await inbox.insert(runningAt("task-4", 1))).toEqual({ outcome: "new" });
      await inbox.close();
    },
  );

  it("fails a handler's transaction, and a restart opens what is there then", async () => {
    await using file = await temporaryFile();
    const inbox = sqliteInbox(file.path);
    await inbox.open();
    await inbox.insert(runningAt("task-1", 1));
    const [claim] = (await inbox.claim(claimOptions())).claims;
    const begin = () =>
      inbox.begin([{ claim: claim!, settlement: doneWith(claim!) }], {
        timeoutMs: 60_000,
      }) as HandlerTransaction<SqliteTransaction>;
    const [shared, next] = [begin(), begin()];
    await shared.handle.query("CREATE TABLE written (name TEXT)");
    await rm(file.path);
    expect(await shared.commit()).toBe("lost");
    await expect(next.handle.query("CREATE TABLE written (name TEXT)")).rejects.toMatchObject({
      code: "INBOX_FILE_LOST",
    });
    await next.rollback();
    await inbox.close();
    await inbox.open();
    expect(await inbox.list({})).toEqual([]);
    await inbox.close();
  });
});

function modeOf(filePath: string): string {
  return (statSync(filePath).mode & 0o777).toString(8);
}

async function rowsIn(filePath: string): Promise<number> {
  const inbox = sqliteInbox(filePath);
  await inbox.open();
  const rows = await inbox.list({ limit: 100 });
  await inbox.close();
  return rows.length;
}

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
