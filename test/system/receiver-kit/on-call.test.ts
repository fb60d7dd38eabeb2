// The person on call, with the runbook, at a terminal of 80 columns.

import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { systemClock } from "@workspace-tasks/kernel/clock.ts";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runInboxCommand } from "../../../receiver-kit/cli/inbox-command.ts";
import type { InboxStore } from "../../../receiver-kit/inbox/inbox.ts";
import { widthOf } from "../../../sdk/kernel/layout.ts";
import { claimOptions, doneWith, runningAt } from "../../support/inbox-rows.ts";
import { postgresInbox, sqliteInbox } from "../../support/inbox-stores.ts";
import type { PostgresDatabase } from "../../support/postgres.ts";
import { runCommand } from "../../support/run-command.ts";
import { sharedPostgres } from "../../support/shared-server.ts";
import { hasPostgres } from "../../support/with-postgres.ts";

const hourMs = 3_600_000;
const nowMs = Date.now();
let atMs = nowMs;
/** Set to the time at which something happens. */
const clock = Object.assign(Object.create(systemClock) as typeof systemClock, { now: () => atMs });
const uuid = (n: number) => `019bc186-de00-7000-8000-${String(n).padStart(12, "0")}`;
const away = "Error: connect ECONNREFUSED 10.0.0.7:443 (the tax service)";
const broken = "TypeError: Cannot read properties of undefined (reading 'amount')";

/** Rows of the last day: most are handled; three fail while a service is away, and others did so before, or in another way. */
async function fill(inbox: InboxStore): Promise<void> {
  await inbox.open();
  const deliver = async (n: number, { receivedMs, error = "", diedMs = receivedMs }: Delivered) => {
    atMs = receivedMs;
    await inbox.insert(runningAt(uuid(n), 1, { id: uuid(1_000 + n) }));
    const [claim] = (await inbox.claim(claimOptions({ leaseMs: 24 * hourMs }))).claims;
    atMs = diedMs;
    if (error === "")
      await inbox.begin([{ claim: claim!, settlement: doneWith(claim!) }], { timeoutMs: 1_000 }).commit();
    else await inbox.fail(claim!, { kind: "dead", error });
  };
  for (let n = 100; n < 160; n++) await deliver(n, { receivedMs: nowMs - 8 * hourMs });
  await deliver(1, { receivedMs: nowMs - 7 * hourMs, error: away });
  await deliver(2, { receivedMs: nowMs - 4 * hourMs, diedMs: nowMs - 2 * hourMs, error: away });
  for (let n = 200; n < 260; n++) await deliver(n, { receivedMs: nowMs - 2 * hourMs });
  await deliver(3, { receivedMs: nowMs - 1.5 * hourMs, error: broken });
  await deliver(4, { receivedMs: nowMs - hourMs, error: away });
  await deliver(5, { receivedMs: nowMs - hourMs, error: away });
  atMs = nowMs;
  await inbox.close();
}

interface Delivered {
  readonly receivedMs: number;
  readonly error?: string;
  readonly diedMs?: number;
}

let directory: string;
let database: PostgresDatabase | undefined;
beforeAll(async () => {
  directory = await mkdtemp(path.join(tmpdir(), "workspace-tasks-on-call-"));
  if (hasPostgres) database = await (await sharedPostgres()).database();
});
afterAll(async () => {
  await database?.[Symbol.asyncDispose]();
  await rm(directory, { recursive: true });
});

/** Hours and minutes three hours ago, as a clock on the wall had them. */
const since = new Date(nowMs - 3 * hourMs).toTimeString().slice(0, 5);
const end = (n: number) => uuid(n).slice(-11);

const titles = ["STATE", "TASK", "TIME", "ATTEMPTS", "WEBHOOK-ID", "EVENT", "SEQ", "LAST ERROR"];
/** By the columns of a terminal. */
const leftOut: Readonly<Record<number, readonly string[]>> = {
  60: ["WEBHOOK-ID", "EVENT", "SEQ"],
  80: ["EVENT", "SEQ"],
  100: [],
  120: [],
};

describe.each(["SQLite", "PostgreSQL"])("the person on call, with an inbox in %s", (kind) => {
  it.skipIf(kind === "PostgreSQL" && !hasPostgres)(
    "finds why a task is not updated, and which events failed with an error since then, and replays just those",
    async () => {
      const store = kind === "SQLite" ? path.join(directory, "on-call.db") : database!.url;
      const pool = kind === "SQLite" ? undefined : database!.pool();
      await fill(pool ? postgresInbox(pool, { clock }) : sqliteInbox({ path: store, clock }));
      await pool?.end();
      const asked: string[] = [];
      const type = async (line: string, answer?: string) => {
        const words = [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, word]) => quoted ?? word ?? "");
        const ask = async (question: string) => {
          asked.push(question);
          return answer ?? "";
        };
        const env = { WORKSPACE_TASKS_INBOX: store };
        const io = {
          program: "workspace-tasks-inbox",
          columns: 80,
          env,
          ...(answer === undefined ? {} : { ask }),
        };
        const { code, out, err } = await runCommand(runInboxCommand, words, {
          ...io,
          env: { ...env, NO_COLOR: "1" },
        });
        for (const text of out.split("\n")) {
          // Ids of a row that is shown as a whole can be copied.
          if (!line.startsWith("show")) expect(widthOf(text), text).toBeLessThanOrEqual(80);
        }
        return { code, out, err, lines: out.trimEnd().split("\n") };
      };
      const runbook = readFileSync("docs/runbook.md", "utf8");
      for (const command of [
        "list --task <id>",
        "list --state dead --since 02:00",
        "replay --error '<text>' --since 02:00",
      ])
        expect(runbook).toContain(`\`${command}\``);

      expect((await type("stats")).out).toMatch(/^dead +5$/m);
      // Why is the task not updated?
      const task = await type(`list --task ${uuid(4)}`);
      expect(task.lines[0]).toMatch(/^STATE +TASK +TIME +ATTEMPTS +.*LAST ERROR$/);
      expect(task.lines).toHaveLength(2);
      expect(task.lines[1]).toMatch(new RegExp(`^dead +\\S*${end(4)} +60 min ago +1 .*Error: connect`));
      const shown = await type(`show --task ${uuid(4)}`);
      expect(shown.out).toContain(uuid(1_004));
      expect(shown.out.replace(/\s+/g, " ")).toContain(`last error ${away}`);
      // Which events have failed with this error since then?
      const failed = await type(`list --state dead --error ECONNREFUSED --since ${since}`);
      expect(failed.lines.slice(1).map((line) => line.split(/ +/)[1])).toEqual(
        [5, 4, 2].map((n) => `…${end(n)}`),
      );
      for (const line of failed.lines.slice(1)) expect(line).toMatch(/ (60 min|2 h) ago +1 .*Error: connect/);
      expect(failed.lines.every((line) => line.split(/ +/).length >= 6)).toBe(true);
      // Just those.
      const none = await type(`replay --error ECONNREFUSED --since ${since}`, "n");
      expect(none).toMatchObject({ code: 1, out: "" });
      const replayed = await type(`replay --error ECONNREFUSED --since ${since}`, "y");
      expect(asked).toEqual(["Replay 3 rows? [y/N] ", "Replay 3 rows? [y/N] "]);
      expect(replayed.err).toMatch(/3 rows: 3 dead; 3 task\.running;\s+from 2 h ago to 60 min ago/);
      expect(replayed).toMatchObject({ code: 0, out: "replayed 3 of 3 rows\n" });
      const pending = await type("list --state pending");
      expect(pending.lines.slice(1).map((line) => line.split(/ +/)[1])).toEqual(
        [5, 4, 2].map((n) => `…${end(n)}`),
      );
      const dead = await type("list --state dead");
      expect(dead.lines.slice(1).map((line) => line.split(/ +/)[1])).toEqual([3, 1].map((n) => `…${end(n)}`));
      // What matters most stays in a narrow terminal.
      for (const [columns, left] of Object.entries(leftOut)) {
        const io = { program: "workspace-tasks-inbox", columns: Number(columns) };
        const { out } = await runCommand(runInboxCommand, ["list", "--state", "dead", "--store", store], io);
        const [head = "", ...rows] = out.trimEnd().split("\n");
        expect(head.split(/ {2,}/)).toEqual(titles.filter((title) => !left.includes(title)));
        expect(rows).toHaveLength(2);
        for (const row of rows) expect(widthOf(row)).toBeLessThanOrEqual(Number(columns));
      }
    },
  );
});
