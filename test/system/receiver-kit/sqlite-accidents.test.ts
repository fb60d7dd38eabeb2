// What people do to a SQLite file while a receiver uses it, or after it crashed. Deliveries that get 200 afterwards are in
// the file after the next start; where the file cannot keep them, they get 503, or the receiver does not start.

import { copyFileSync, renameSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import Database from "libsql";
import { describe, expect, it } from "vitest";
import { bundledProgram } from "../../support/bundled-program.ts";
import { atDepth } from "../../support/depth.ts";
import { KillableReceiver, receiverTables } from "../../support/killable-receiver.ts";
import { RunningProgram } from "../../support/running-program.ts";
import { sampleEvent } from "../../support/sample-event.ts";
import { signDelivery } from "../../support/signed-delivery.ts";

interface Scene {
  readonly file: string;
  /** Made by the command, in the middle of the deliveries. */
  readonly backup: string;
  readonly kill: () => Promise<void>;
  readonly stop: () => Promise<void>;
}

type Accident = (scene: Scene) => Promise<void> | void;

/** In a process of its own: a driver keeps locks of a file that it has closed. */
async function command(...argv: string[]) {
  const entry = fileURLToPath(new URL("inbox-command-program.ts", import.meta.url));
  using program = new RunningProgram([...(await bundledProgram(entry)), ...argv]);
  return await program.result();
}

const remove = (...files: string[]) => {
  // A receiver that has noticed it may have closed the file.
  for (const each of files) rmSync(each, { force: true });
};

/** `running`: the receiver runs on, with the file as it is then. */
const accidents: readonly (readonly [name: string, end: "running" | "ended", accident: Accident])[] = [
  [
    "stopped, then a backup is copied over the file",
    "ended",
    async ({ file, backup, stop }) => {
      await stop();
      copyFileSync(backup, file);
    },
  ],
  [
    "crashed, then a backup is copied over the file",
    "ended",
    async ({ file, backup, kill }) => {
      await kill();
      copyFileSync(backup, file);
    },
  ],
  [
    "crashed, then a backup is moved to the file",
    "ended",
    async ({ file, backup, kill }) => {
      await kill();
      renameSync(backup, file);
    },
  ],
  [
    "crashed, then a backup is copied over the file, -wal and -shm are removed",
    "ended",
    async ({ file, backup, kill }) => {
      await kill();
      copyFileSync(backup, file);
      remove(`${file}-wal`, `${file}-shm`);
    },
  ],
  ["a backup is moved to the file while it runs", "running", ({ file, backup }) => renameSync(backup, file)],
  ["the file is deleted while it runs", "running", ({ file }) => rmSync(file)],
  [
    "a backup is copied over the file while it runs",
    "running",
    ({ file, backup }) => copyFileSync(backup, file),
  ],
  ["-wal and -shm are removed while it runs", "running", ({ file }) => remove(`${file}-wal`, `${file}-shm`)],
  ["-wal is removed while it runs", "running", ({ file }) => remove(`${file}-wal`)],
  ["-shm is removed while it runs", "running", ({ file }) => remove(`${file}-shm`)],
  [
    "a backup is copied over the file while it runs, -wal and -shm are removed",
    "running",
    ({ file, backup }) => {
      copyFileSync(backup, file);
      remove(`${file}-wal`, `${file}-shm`);
    },
  ],
  ["the file is cut while it runs", "running", ({ file }) => truncateSync(file, 20_000)],
  ["the file is emptied while it runs", "running", ({ file }) => writeFileSync(file, "")],
  [
    "the restore command is used after a crash",
    "ended",
    async ({ file, backup, kill }) => {
      await kill();
      expect(await command("restore", backup, "--store", file)).toMatchObject({ code: 0, err: "" });
    },
  ],
  [
    "the restore command is used while it runs",
    "running",
    async ({ file, backup }) => {
      const { code, err } = await command("restore", backup, "--store", file);
      expect(code).toBe(2);
      expect(err).toContain("is in use; stop the receivers");
    },
  ],
];

describe("a SQLite inbox", () => {
  it.each(
    atDepth(
      accidents.filter((_, index) => index % 4 === 0),
      accidents,
    ),
  )("loses nothing that got 200: %s", async (_, state, accident) => {
    const directory = await mkdtemp(path.join(tmpdir(), "workspace-tasks-accident-"));
    const file = path.join(directory, "webhooks.db");
    const backup = `${file}.backup`;
    createTables(file);
    let sent = 0;
    await using first = await KillableReceiver.load({ store: file });
    const port = await first.begin();
    const send = (to: number) => sendAll(to, () => `msg_${++sent}`);
    expect(await send(port)).toHaveLength(deliveries);
    expect(await command("backup", backup, "--store", file)).toMatchObject({ code: 0 });
    expect(await send(port)).toHaveLength(deliveries);
    await accident({ file, backup, kill: () => first.kill(), stop: () => first.stop() });
    const acknowledged = state === "running" ? await send(port) : [];
    if (state === "running") await first.kill();
    await using next = await KillableReceiver.load({ store: file });
    const nextPort = await next.begin().catch(() => undefined);
    if (nextPort !== undefined) acknowledged.push(...(await send(nextPort)));
    await next.kill();
    const stored = await storedIds(file);
    expect(acknowledged.filter((id) => !stored.has(id))).toEqual([]);
    await rm(directory, { recursive: true });
  });
});

/** Each has 300 KB: some of them are in the file already, others in its -wal. */
const deliveries = atDepth(18, 30);

function createTables(file: string): void {
  const database = new Database(file);
  database.exec("PRAGMA page_size = 2048");
  for (const table of receiverTables) database.exec(table);
  database.close();
}

/** Returns the ids of those that got 200. */
async function sendAll(port: number, nextId: () => string): Promise<string[]> {
  const acknowledged: string[] = [];
  const one = async () => {
    const id = nextId();
    const body = JSON.stringify(sampleEvent({ note: "x".repeat(300_000) }));
    const { headers } = signDelivery({ id, body, timestampSeconds: Math.floor(Date.now() / 1_000) });
    const url = `http://127.0.0.1:${port}/webhooks`;
    const response = await fetch(url, { method: "POST", headers, body }).catch(() => undefined);
    await response?.arrayBuffer();
    if (response?.status === 200) acknowledged.push(id);
  };
  for (let left = deliveries; left > 0; left -= 6)
    await Promise.all(Array.from({ length: Math.min(6, left) }, one));
  return acknowledged;
}

/** Of a file without damage, as a new process sees it. */
async function storedIds(file: string): Promise<ReadonlySet<string>> {
  const { out } = await command("ids", file);
  return new Set(out.split("\n"));
}
