// A process with nothing but a started receiver: no server keeps it alive.

import { createReceiver, type Inbox, memoryInbox } from "@workspace-tasks/receiver-kit";
import { postgresInbox } from "@workspace-tasks/receiver-kit/postgres";
import { sqliteInbox } from "@workspace-tasks/receiver-kit/sqlite";
import pg from "pg";
import { secretA } from "../../support/signed-delivery.ts";

const [, , store = ""] = process.argv;

function inboxOf(): Inbox<unknown> {
  if (store === "memory") return memoryInbox();
  if (!store.startsWith("postgres:")) return sqliteInbox(store);
  const pool = new pg.Pool({ connectionString: store, max: 14, connectionTimeoutMillis: 2_000 });
  pool.on("error", () => {});
  return postgresInbox(pool, { queryTimeoutMs: 2_000 });
}

const receiver = createReceiver({ secrets: [secretA], inbox: inboxOf(), leaseMs: 5_000 });
receiver.on("*", (_event, { id }) => console.log(`handled ${id}`));
await receiver.start();
console.log("started");
process.once("SIGTERM", async () => {
  await receiver.close();
  console.log("closed");
  // The pool is the program's own.
  if (store.startsWith("postgres:")) process.exit();
});
