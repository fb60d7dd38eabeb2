import { once } from "node:events";
import type { AddressInfo } from "node:net";
import express from "express";
import pg from "pg";
import { webhookMiddleware } from "../receiver-kit/express.ts";
import { createReceiver, type Inbox } from "../receiver-kit/index.ts";
import { postgresInbox } from "../receiver-kit/postgres.ts";
import { sqliteInbox } from "../receiver-kit/sqlite.ts";
import { secretA } from "../test/support/signed-delivery.ts";

export type CostReport = { readonly cpuMicros: number };
type Transaction = { query(statement: string, values?: string[]): Promise<unknown> };

const [store = "", countText = "0"] = process.argv.slice(2);
const isPostgres = store.startsWith("postgres://");
const pool = isPostgres ? new pg.Pool({ connectionString: store, max: 13 }) : undefined;
const inbox: Inbox<Transaction> = pool ? postgresInbox(pool) : sqliteInbox(store);
const table = "CREATE TABLE IF NOT EXISTS board (task TEXT PRIMARY KEY, status TEXT)";
const upsert = isPostgres
  ? "INSERT INTO board VALUES ($1, $2) ON CONFLICT (task) DO UPDATE SET status = excluded.status"
  : "INSERT OR REPLACE INTO board VALUES (?, ?)";
if (pool) await pool.query(table);
else (await import("libsql").then(({ default: Database }) => new Database(store))).exec(table);

const receiver = createReceiver<Transaction>({ secrets: [secretA], inbox });
receiver.onState("task", async ({ taskId, status }, { transaction }) => {
  await transaction.query(upsert, [taskId, status]);
});
const app = express();
app.post("/webhooks", webhookMiddleware(receiver));
await receiver.start();
const server = app.listen(0, "127.0.0.1");
await once(server, "listening");
const before = process.cpuUsage();
process.send?.({ port: (server.address() as AddressInfo).port });

await once(process, "message");
for (let done = 0; done < Number(countText); ) {
  done = (await receiver.stats()).inbox.rows.done;
  await new Promise((resolve) => setTimeout(resolve, 250));
}
const { user, system } = process.cpuUsage(before);
process.send?.({ cpuMicros: user + system } satisfies CostReport);
server.closeAllConnections();
server.close();
await receiver.close();
await pool?.end();
process.disconnect();
