import { existsSync } from "node:fs";
import { mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import Database from "libsql";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { runInboxCommand } from "../../../receiver-kit/cli/inbox-command.ts";
import type { InboxStore } from "../../../receiver-kit/inbox/inbox.ts";
import { claimOptions, doneWith, newRowOf, runningAt } from "../../support/inbox-rows.ts";
import { postgresInbox, sqliteInbox } from "../../support/inbox-stores.ts";
import type { PostgresDatabase } from "../../support/postgres.ts";
import { runCommand } from "../../support/run-command.ts";
import { sampleEvent } from "../../support/sample-event.ts";
import { sharedPostgres } from "../../support/shared-server.ts";
import { shownArguments } from "../../support/shown-commands.ts";
import { hasPostgres } from "../../support/with-postgres.ts";

let database: PostgresDatabase | undefined;
let directory: string;
beforeAll(async () => {
  if (hasPostgres) database = await (await sharedPostgres()).database();
  directory = await mkdtemp(path.join(tmpdir(), "workspace-tasks-command-"));
});
afterAll(async () => {
  await database?.[Symbol.asyncDispose]();
  await rm(directory, { recursive: true });
});

const run = (...argv: readonly string[]) =>
  runCommand(runInboxCommand, argv, { program: "workspace-tasks-inbox" });

/** One row done, one dead, two quarantined, one of them replayable. */
async function fill(inbox: InboxStore): Promise<void> {
  await inbox.open();
  await inbox.insert(runningAt("task-1", 1, { id: "done" }));
  const [done] = (await inbox.claim(claimOptions())).claims;
  await inbox.begin([{ claim: done!, settlement: doneWith(done!) }], { timeoutMs: 1_000 }).commit();
  await inbox.insert(runningAt("task-2", 1, { id: "dead" }));
  const [dead] = (await inbox.claim(claimOptions())).claims;
  await inbox.fail(dead!, { kind: "dead", error: "Error: no such client" });
  await inbox.insert(newRowOf(sampleEvent(), { id: "fixable", quarantine: "was not understood" }));
  await inbox.insert(
    runningAt("task-3", 1, { id: "odd", quarantine: "body is not JSON", body: Buffer.from("\u001b[2J{") }),
  );
  await inbox.close();
}

it("the inbox commands of docs/webhooks.md list and replay dead events", async () => {
  const store = path.join(directory, "shown.db");
  await fill(sqliteInbox(store));
  const shown = (part: string) =>
    shownArguments("docs/webhooks.md", {
      ...{ program: "workspace-tasks-inbox", part },
      values: { "webhooks.db": store, "<task id>": "task-1" },
    });
  expect((await run(...shown("inbox list"))).out.match(/ (?:dead|quarantined) /g)).toHaveLength(4);
  expect((await run(...shown("inbox replay"))).out).toBe("dead  replayed\n");
});

for (const kind of ["SQLite", "PostgreSQL"])
  describe.skipIf(kind === "PostgreSQL" && !hasPostgres)(`the inbox command on ${kind}`, () => {
    let store: string;
    let schema: string[];
    let stores = 0;

    beforeEach(async () => {
      const name = `command_${++stores}`;
      if (kind === "SQLite") {
        store = path.join(directory, `${name}.db`);
        schema = [];
        await fill(sqliteInbox(store));
      } else {
        store = database!.url;
        schema = ["--schema", name];
        const pool = database!.pool();
        await fill(postgresInbox(pool, { schema: name }));
        await pool.end();
      }
    });

    const inbox = (...argv: string[]) => run(...argv, "--store", store, ...schema);

    it("inbox list prints all rows, or those of a state", async () => {
      const all = await inbox("list");
      expect(all.code).toBe(0);
      expect(all.out).toMatch(/dead +task\.running +dead +\d+ m?s ago +1 +Error: no such client/);
      const quarantined = await inbox("list", "--state", "quarantined", "--json");
      expect(JSON.parse(quarantined.out).map((row: { id: string }) => row.id)).toEqual(["odd", "fixable"]);
      const paged = JSON.parse((await inbox("list", "--limit", "1", "--json")).out);
      expect(paged).toHaveLength(1);
      expect(JSON.parse((await inbox("list", "--before", String(paged[0].seq), "--json")).out)).toHaveLength(
        3,
      );
      expect((await inbox("list", "--source", "other")).out).toBe("no rows\n");
    });

    it("inbox show prints a row with its body, with control characters escaped", async () => {
      const { code, out } = await inbox("show", "odd");
      expect(code).toBe(0);
      expect(out).toContain("last error  body is not JSON");
      expect(out).toContain("\\u001b[2J{");
      expect(out).not.toContain("\u001b");
      const json = JSON.parse((await inbox("show", "odd", "--json")).out);
      expect(json).toMatchObject({
        state: "quarantined",
        body: { base64: Buffer.from("\u001b[2J{").toString("base64") },
      });
    });

    it("inbox stats counts rows that need attention", async () => {
      expect((await inbox("stats")).out).toMatch(/dead +1\n/);
      expect(JSON.parse((await inbox("stats", "--json")).out).rows).toMatchObject({
        waiting: 0,
        dead: 1,
        quarantined: 2,
      });
    });

    it("inbox show, replay and discard report rows that they cannot find or change", async () => {
      expect(await inbox("show", "absent")).toMatchObject({
        code: 1,
        err: expect.stringContaining("absent"),
      });
      expect(await inbox("replay", "absent", "--json")).toMatchObject({ code: 1 });
      expect(await inbox("discard", "done")).toMatchObject({ code: 1, out: "done  not-discardable\n" });
    });

    it("inbox replay replays rows by id or by state, and reports those it could not", async () => {
      expect(await inbox("replay", "dead")).toMatchObject({ code: 0, out: "dead  replayed\n" });
      expect(await inbox("replay", "dead")).toMatchObject({ code: 1, out: "dead  not-replayable\n" });
      const all = await inbox("replay", "--state", "quarantined", "--json");
      expect(all.code).toBe(1);
      expect(
        JSON.parse(all.out).map(({ id, outcome }: Record<string, string>) => `${id} ${outcome}`),
      ).toEqual(["odd not-replayable", "fixable replayed"]);
      const rows = JSON.parse((await inbox("list", "--state", "pending", "--json")).out);
      expect(rows.map((row: { id: string }) => row.id)).toEqual(["fixable", "dead"]);
    });

    it("inbox discard discards rows by state", async () => {
      expect(await inbox("discard", "--state", "quarantined,dead")).toMatchObject({
        code: 0,
        out: "odd  discarded\nfixable  discarded\ndead  discarded\n",
      });
      expect(JSON.parse((await inbox("show", "odd", "--json")).out).state).toBe("discarded");
    });
  });

describe("the inbox command", () => {
  it.each([
    [[], "Usage:"],
    [["list"], "workspace-tasks-inbox list: expected --store <file or URL> or WORKSPACE_TASKS_INBOX"],
    [["lst", "--store", "x"], "did you mean list?"],
    [["show", "a", "--store", "x", "--limit", "5"], "unknown flag --limit"],
    [["list", "--store", "/nowhere/at-all.db"], "--store: no file /nowhere/at-all.db"],
    [["list", "--store", "postgres://u:hidden@127.0.0.1:1/x"], "the inbox cannot be opened"],
    [["list", "--store", "mysql://u:hidden@127.0.0.1:1/x"], "got a mysql:// URL"],
  ])("inbox rejects %j", async (argv, message) => {
    const { err, ...result } = await run(...argv);
    expect(result).toEqual({ code: 2, out: "" });
    expect(err).toContain(message);
    expect(err).not.toContain("hidden");
  });

  it("inbox backup and restore check what they copy, and replace no file that is a backup or in use", async () => {
    const [store, copy, text] = ["whole.db", "copy.db", "text.db"].map((name) => path.join(directory, name));
    await fill(sqliteInbox(store!));
    await writeFile(text!, "Dear diary, ".repeat(1_000));
    const inbox = sqliteInbox(store!);
    await inbox.open();
    expect(await run("backup", copy!, "--store", store!)).toMatchObject({ code: 0 });
    expect((await stat(copy!)).mode & 0o777).toBe(0o600);
    const refused = async (argv: string[], message: string) =>
      expect(await run(...argv)).toMatchObject({ code: 2, err: expect.stringContaining(message) });
    await refused(["backup", copy!, "--store", store!], "exists already; give the name of a new file");
    await refused(["backup", `${copy}.2`, "--store", `${store}.absent`], "no file");
    await refused(["backup", `${copy}.2`, "--store", "postgres://127.0.0.1/x"], "such as pg_dump");
    await refused(["backup", store!, "--store", store!], "the file of the inbox twice");
    await refused(["restore", copy!, "--store", store!], "is in use; stop the receivers");
    await inbox.insert(runningAt("task-9", 1));
    await inbox.close();
    await refused(["restore", text!, "--store", path.join(directory, "other.db")], "cannot be copied");
    const other = new Database(path.join(directory, "application.db"));
    other.exec("CREATE TABLE orders (number)");
    other.close();
    await refused(
      ["restore", path.join(directory, "application.db"), "--store", path.join(directory, "other.db")],
      "it has no inbox",
    );
    expect(existsSync(path.join(directory, "other.db"))).toBe(false);
    const restored = path.join(directory, "restored.db");
    const json = await run("restore", copy!, "--store", restored, "--json");
    expect(JSON.parse(json.out)).toMatchObject({ file: restored, backup: copy });
    expect((await run("list", "--store", restored)).out.match(/task\./g)).toHaveLength(4);
  });

  it("inbox replay requires either ids or --state, show one id, and no row in the state is no error", async () => {
    const store = path.join(directory, "empty.db");
    const inbox = sqliteInbox(store);
    await inbox.open();
    await inbox.close();
    const incomplete = [["replay"], ["replay", "one", "--state", "dead"], ["show"]];
    for (const argv of incomplete) expect((await run(...argv, "--store", store)).code).toBe(2);
    for (const name of ["replay", "discard"]) {
      const none = await run(name, "--state", "dead,quarantined", "--store", store);
      expect(none).toMatchObject({ code: 0, out: "no row of source default is dead or quarantined\n" });
    }
  });
});
