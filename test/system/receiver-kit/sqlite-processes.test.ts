// Two receiver processes on one SQLite file.

import { copyFile, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, it } from "vitest";
import { loadSqliteDriver } from "../../../receiver-kit/inbox/sqlite/sqlite-driver.ts";
import { DeliverySender } from "../../support/delivery-sender.ts";
import { sqliteInbox } from "../../support/inbox-stores.ts";
import { KillableReceiver, receiverTables } from "../../support/killable-receiver.ts";
import { sampleEvent } from "../../support/sample-event.ts";

it("two receiver processes on one SQLite file leave one complete file when both have stopped", async () => {
  const directory = await mkdtemp(path.join(tmpdir(), "workspace-tasks-sqlite-processes-"));
  const file = path.join(directory, "inbox.db");
  const connection = (await loadSqliteDriver())(file);
  for (const statement of receiverTables) connection.exec(statement);
  connection.close();
  const options = { store: file };
  const receivers = await Promise.all([KillableReceiver.load(options), KillableReceiver.load(options)]);
  await using first = receivers[0];
  await using last = receivers[1];
  using sender = new DeliverySender();
  const deliveries = Array.from({ length: 30 }, (_, n) => ({
    id: `msg_${n}`,
    body: JSON.stringify(sampleEvent({ taskId: `task-${n}` })),
  }));
  const ports = [await first.begin(), await last.begin()];
  for (const [index, port] of ports.entries()) {
    sender.aimAt(port);
    await sender.sweep(deliveries.slice(index * 15, index * 15 + 15), 8);
  }
  await Promise.all([first.stop(), last.stop()]);
  expect(sender.acknowledged.size).toBe(30);

  const copy = `${file}.copy`;
  await copyFile(file, copy);
  const inbox = sqliteInbox(copy);
  await inbox.open();
  expect(await inbox.list({ limit: 100 })).toHaveLength(30);
  await inbox.close();
  await rm(directory, { recursive: true });
});
