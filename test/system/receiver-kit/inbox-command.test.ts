import { existsSync } from "node:fs";
import { chmod, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import Database from "libsql";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { runInboxCommand } from "../../../receiver-kit/cli/inbox-command.ts";
import type { InboxStore } from "../../../receiver-kit/inbox/inbox.ts";
import { shownArguments } from "../../support/documents.ts";
import { claimOptions, doneWith, newRowOf, runningAt } from "../../support/inbox-rows.ts";
import { postgresInbox, sqliteInbox } from "../../support/inbox-stores.ts";
import type { PostgresDatabase } from "../../support/postgres.ts";
import { runCommand } from "../../support/run-command.ts";
import { sampleEvent } from "../../support/sample-event.ts";
import { sharedPostgres } from "../../support/shared-server.ts";
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
      program: "workspace-tasks-inbox",
      part,
      values: { "webhooks.db": store, "<task id>": "task-1" },
    });
  expect((await run(...shown("inbox list"))).out.match(/^(?:dead|quarantined) /gm)).toHaveLength(3);
  const replay = shown("inbox replay")
    .join(" ")
    .replace(/'([^']*)'/, (_, text: string) => text.replaceAll(" ", "\0"));
  const argv = replay.split(" ").map((word) => word.replaceAll("\0", " "));
  expect((await run(...argv)).out).toBe("replayed 1 of 1 row\n");
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
      expect(all.out).toMatch(
        /dead +task-2 +\d+ m?s ago +1 +dead +task\.running +\d+ +Error: no such client/,
      );
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
      const all = await inbox("replay", "--state", "quarantined", "--yes", "--json");
      expect(all.code).toBe(1);
      expect(JSON.parse(all.out)).toEqual({
        count: 2,
        counts: { replayed: 1, "not-replayable": 1 },
        unchanged: [{ source: "default", id: "odd", outcome: "not-replayable" }],
      });
      const rows = JSON.parse((await inbox("list", "--state", "pending", "--json")).out);
      expect(rows.map((row: { id: string }) => row.id)).toEqual(["fixable", "dead"]);
    });

    it("inbox discard discards rows by state", async () => {
      const out = "discarded 3 of 3 rows\n";
      expect(await inbox("discard", "--state", "quarantined,dead", "--yes")).toMatchObject({ code: 0, out });
      expect(JSON.parse((await inbox("show", "odd", "--json")).out).state).toBe("discarded");
    });

    it.each(["replay", "discard"])(
      "inbox %s of many rows counts them and asks, or needs --yes",
      async (name) => {
        const count = "3 rows: 2 quarantined, 1 dead; 3 task.running; from ";
        const states = async () =>
          JSON.parse((await inbox("list", "--json")).out).map(({ state }: { state: string }) => state);
        const before = await states();
        const refused = await inbox(name, "--event", "task.*");
        expect(refused).toMatchObject({ code: 2, out: "", err: expect.stringContaining("--yes to agree") });
        expect(refused.err).toContain(count);
        const dry = await inbox(name, "--event", "task.*", "--dry-run");
        expect(dry).toMatchObject({
          code: 0,
          out: expect.stringContaining("nothing was changed: --dry-run"),
        });
        expect(dry.out).toContain(count);
        const asked: string[] = [];
        const ask = (answer: string) => async (question: string) => {
          asked.push(question);
          return answer;
        };
        const argv = [name, "--event", "task.*", "--store", store, ...schema];
        const io = { program: "workspace-tasks-inbox" };
        const declined = await runCommand(runInboxCommand, argv, { ...io, ask: ask("") });
        expect(declined).toMatchObject({ code: 1, err: expect.stringContaining("nothing was changed") });
        expect(await states()).toEqual(before);
        await runCommand(runInboxCommand, argv, { ...io, ask: ask("y") });
        expect(asked[1]).toMatch(/^(Replay|Discard) 3 rows\? \[y\/N\] $/);
        expect(await states()).not.toEqual(before);
      },
    );

    it("inbox replay repeats what was handled only with --again, by id and by filter", async () => {
      const byState = ["replay", "--state", "done", "--yes"];
      expect(await inbox(...byState)).toMatchObject({ code: 2, err: expect.stringContaining("--again") });
      expect(await inbox("replay", "done")).toMatchObject({
        code: 1,
        out: expect.stringContaining("--again"),
      });
      expect((await inbox("list", "--state", "pending")).out).toBe("no rows\n");
      // Without --state what was handled does not match.
      expect((await inbox("replay", "--task", "task-1", "--yes")).out).toBe(
        "no row of source default matches\n",
      );
      expect((await inbox(...byState, "--again")).out).toBe("replayed 1 of 1 row\n");
    });

    it("inbox list finds rows by each filter", async () => {
      const ids = async (...argv: string[]) => {
        const { out, code } = await inbox("list", "--json", ...argv);
        expect(code).toBe(0);
        return JSON.parse(out).map((row: { id: string }) => row.id);
      };
      expect(await ids("--task", "task-2")).toEqual(["dead"]);
      expect(await ids("--task", "task-")).toEqual([]);
      expect(await ids("--task", "…sk-2")).toEqual(["dead"]);
      expect(await ids("--error", "no such")).toEqual(["dead"]);
      expect(await ids("--event", "task.*", "--state", "dead")).toEqual(["dead"]);
      expect(await ids("--event", "subtask.*")).toEqual([]);
      const { clientId } = sampleEvent() as { clientId?: string };
      expect(await ids("--client", String(clientId))).toContain("fixable");
      expect(await ids("--client", `...${String(clientId).slice(-4)}`)).toContain("fixable");
      expect(await ids("--client", String(clientId).slice(0, -1))).toEqual([]);
      expect(await ids("--since", "1h")).toHaveLength(4);
      expect(await ids("--until", "1h")).toEqual([]);
      expect((await inbox("show", "…xable")).out).toMatch(/^webhook-id {2}fixable\n/);
      expect(await inbox("show", "...d")).toMatchObject({
        code: 1,
        err: expect.stringContaining("several ids end so"),
      });
      expect((await inbox("show", "--error", "no such")).out).toMatch(/^webhook-id {2}dead\n/);
    });
  });

describe("the inbox command", () => {
  it.each([
    [[], "Usage:"],
    [["list"], "workspace-tasks-inbox list: expected --store <file or URL> or WORKSPACE_TASKS_INBOX"],
    [["lst", "--store", "x"], "did you mean list?"],
    [["show", "a", "--store", "x", "--limit", "5"], "unknown flag --limit"],
    [["list", "--store", "x", "--since", "yesterday"], "--since: expected a time such as 2h"],
    [["list", "--store", "x", "--since", "2026-02-30"], "--since: expected a time such as 2h"],
    [["list", "--store", "x", "--since", "25:00"], "--since: expected a time such as 2h"],
    [["list", "--store", "/nowhere/at-all.db"], "--store: no file /nowhere/at-all.db"],
    [["list", "--store", "postgres://u:hidden@127.0.0.1:1/x"], "the inbox cannot be opened"],
    [["list", "--store", "mysql://u:hidden@127.0.0.1:1/x"], "got a mysql:// URL"],
  ])("inbox rejects %j", async (argv, message) => {
    const { err, ...result } = await run(...argv);
    expect(result).toEqual({ code: 2, out: "" });
    expect(err).toContain(message);
    expect(err).not.toContain("hidden");
  });

  it.each([["list", "--state", "dead"], ["stats"], ["replay", "--state", "dead", "--yes"]])(
    "inbox %s makes no inbox of another SQLite file",
    async (...argv) => {
      const file = path.join(directory, `${argv[0]}-of-application.db`);
      const application = new Database(file);
      application.exec("CREATE TABLE orders (number)");
      application.close();
      await chmod(file, 0o640);
      const before = await readFile(file);
      const { code, err } = await run(...argv, "--store", file);
      expect({ code, err }).toMatchObject({ code: 2, err: expect.stringContaining(`no inbox in ${file}`) });
      expect((await readFile(file)).equals(before)).toBe(true);
      expect((await stat(file)).mode & 0o777).toBe(0o640);
    },
  );

  it("inbox list does not decide whether a file has an inbox while another program has locked it", async () => {
    const file = path.join(directory, "locked.db");
    const application = new Database(file);
    application.exec("CREATE TABLE orders (number); BEGIN EXCLUSIVE");
    const unlocked = pause(1_000).then(() => application.exec("COMMIT"));
    const { code, err } = await run("list", "--store", file);
    await unlocked;
    expect({ code, err }).toMatchObject({ code: 2, err: expect.stringContaining("database is locked") });
    expect(application.prepare("SELECT name FROM sqlite_master").all()).toEqual([{ name: "orders" }]);
    application.close();
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

  it("inbox replay, discard and show require either ids or filters, and no row that matches is no error", async () => {
    const store = path.join(directory, "empty.db");
    const inbox = sqliteInbox(store);
    await inbox.open();
    await inbox.close();
    const incomplete = [
      ["replay"],
      ["replay", "--yes"],
      ["replay", "one", "--state", "dead"],
      ["show"],
      ["discard"],
    ];
    for (const argv of incomplete) expect((await run(...argv, "--store", store)).code).toBe(2);
    for (const name of ["replay", "discard"]) {
      const none = await run(name, "--state", "dead,quarantined", "--store", store);
      expect(none).toMatchObject({ code: 0, out: "no row of source default matches\n" });
    }
  });
});
