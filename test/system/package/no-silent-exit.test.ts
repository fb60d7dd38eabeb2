// Node exits with code 13 and no output when the program awaits something and no timer or socket is left. Only a process
// of its own shows that: the test runner keeps its event loop alive.

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { loadSqliteDriver } from "../../../receiver-kit/inbox/sqlite/sqlite-driver.ts";
import { bundledModule } from "../../support/bundled-program.ts";
import { claimOptions, runningAt } from "../../support/inbox-rows.ts";
import { sqliteInbox } from "../../support/inbox-stores.ts";
import { packageFlags } from "../../support/package-flags.ts";
import { RunningProgram } from "../../support/running-program.ts";
import { secretA } from "../../support/signed-delivery.ts";

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(path.join(tmpdir(), "workspace-tasks-exit-"));
});
afterAll(() => rm(directory, { recursive: true }));

/** Runs an ES module, given as text, in a process of its own. */
async function runModule(source: string): Promise<RunningProgram> {
  const imports = `
    import { createReceiver, memoryInbox } from "@workspace-tasks/receiver-kit";
    import { sqliteInbox } from "@workspace-tasks/receiver-kit/sqlite";
    import { runningAt } from ${await bundledModule("test/support/inbox-rows.ts")};
    const secrets = [${JSON.stringify(secretA)}];`;
  return new RunningProgram([...packageFlags, "--input-type=module", "--eval", imports + source]);
}

async function holdLock(file: string) {
  await writeFile(file, "", { mode: 0o600 });
  const connection = (await loadSqliteDriver())(file);
  // The first transaction of a new file writes its first page, so COMMIT waits for those that read it.
  connection.query("PRAGMA busy_timeout = 10000");
  connection.exec("BEGIN IMMEDIATE");
  return () => {
    connection.exec("COMMIT");
    connection.close();
  };
}

describe("a process with a receiver", () => {
  it("a receiver waits at start() while another process holds the lock of the SQLite file", async () => {
    const file = path.join(directory, "locked.db");
    const release = await holdLock(file);
    using program = await runModule(`
      const receiver = createReceiver({ secrets, inbox: sqliteInbox(${JSON.stringify(file)}) });
      receiver.on("*", () => {});
      console.log("starting");
      await receiver.start();
      await receiver.close();
      console.log("closed");`);
    await program.said(/starting/);
    await pause(300);
    release();
    expect(await program.ended()).toEqual({ code: 0, output: "starting\nclosed\n" });
  });

  it("start() reports a lock that is held for longer than busyTimeoutMs at start()", async () => {
    const file = path.join(directory, "held.db");
    const release = await holdLock(file);
    using program = await runModule(`
      const inbox = sqliteInbox({ path: ${JSON.stringify(file)}, busyTimeoutMs: 200 });
      await createReceiver({ secrets, inbox }).on("*", () => {}).start().catch(({ message }) => console.log(message));`);
    const message = "sqlite inbox: another process kept the file locked for busyTimeoutMs (200)\n";
    expect(await program.ended()).toEqual({ code: 0, output: message });
    release();
  });

  it("a process waits for the limits of a delivery that is stored, a handler, and close()", async () => {
    using program = await runModule(`
      const inbox = memoryInbox();
      await inbox.open();
      const logger = { info() {}, warn() {}, error() {} };
      const receiver = createReceiver({ secrets, inbox, logger, acceptTimeoutMs: 100, handlerTimeoutMs: 100 });
      receiver.on("*", () => new Promise(() => {}));
      await inbox.insert(runningAt("task-1", 1));
      await receiver.start();
      while ((await receiver.stats()).running === 0) await null;
      await receiver.close({ graceMs: 200 });
      console.log("closed");
      const stuck = createReceiver({ secrets, logger, acceptTimeoutMs: 100,
        inbox: new Proxy(memoryInbox(), { get: (target, name) => name === "insert" ? () => new Promise(() => {}) : target[name] }) });
      await stuck.accept({ id: "msg_2", timestamp: 1, body: Buffer.from("{}"), secretIndex: 0 }).catch(({ code }) => console.log(code));`);
    expect(await program.ended()).toEqual({ code: 0, output: "closed\nINBOX_UNAVAILABLE\n" });
  });

  it.each([
    ["with handlers logs once that it was never started", 'receiver.on("*", () => {});', 1],
    ["without handlers, which stores for another process, does not log that it was never started", "", 0],
  ])("a receiver %s", async (_, handlers, times) => {
    using program = await runModule(`
      const logger = { info() {}, warn: (fields, message) => console.log(message), error() {} };
      const receiver = createReceiver({ secrets, logger, inbox: memoryInbox() });
      ${handlers}
      for (const id of ["a", "b"]) await receiver.accept({ id, timestamp: 1, body: Buffer.from("{}"), secretIndex: 0 });`);
    const { output } = await program.ended();
    expect(output.match(/start\(\) was not called/g) ?? []).toHaveLength(times);
  });
});

it("the inbox command replays and discards 20 of 20 rows while each handler holds the SQLite file for 40 ms", async () => {
  const file = path.join(directory, "busy.db");
  const inbox = sqliteInbox(file);
  await inbox.open();
  for (let n = 0; n < 20; n++) await inbox.insert(runningAt(`dead-${n}`, 1, { id: `dead-${n}` }));
  for (const claim of (await inbox.claim(claimOptions({ rowsMax: 20 }))).claims) {
    await inbox.fail(claim, { kind: "dead", error: "for the test" });
  }
  await inbox.close();
  // Every handled event is pending again at once, so there is always work.
  using receiver = await runModule(`
      import { setTimeout as pause } from "node:timers/promises";
      const inbox = sqliteInbox({ path: ${JSON.stringify(file)} });
      const logger = { info() {}, warn() {}, error() {} };
      const receiver = createReceiver({ secrets, inbox, logger, source: "busy", retry: { firstDelayMs: 1, delayMsMax: 1, attemptsMax: 1e6 } });
      receiver.on("*", async (_, { transaction }) => {
        await transaction.query("SELECT 1");
        await pause(40);
        throw new Error("again");
      });
      await inbox.open();
      for (let n = 0; n < 16; n++) await inbox.insert(runningAt("busy-" + n, 1, { source: "busy" }));
      await receiver.start();
      console.log("busy");
      setInterval(() => {}, 1000);`);
  await receiver.said(/busy/);
  using commands = await runModule(`
      import { runInboxCommand } from ${await bundledModule("receiver-kit/cli/inbox-command.ts")};
      for (let n = 0; n < 20; n++) {
        const io = { stdout: process.stdout, stderr: process.stdout, env: {}, stop: new AbortController().signal };
        const name = n % 2 === 0 ? "replay" : "discard";
        console.log(await runInboxCommand([name, "dead-" + n, "--store", ${JSON.stringify(file)}], io));
      }`);
  const { code, output } = await commands.ended();
  expect(output.match(/^dead-\d+ {2}(replayed|discarded)$/gm)).toHaveLength(20);
  expect(output.match(/^0$/gm)).toHaveLength(20);
  expect(code).toBe(0);
});
