// A receiver with a handler of batches that ends its process at a step of the transaction of a batch, without warning:
// stopped-batch-program.ts URL STEP

import { createReceiver, silentLogger } from "@workspace-tasks/receiver-kit";
import { postgresInbox } from "@workspace-tasks/receiver-kit/postgres";
import pg from "pg";

const [connectionString = "", wanted = ""] = process.argv.slice(2);

const reach = (step: string) => {
  if (step === wanted) process.kill(process.pid, "SIGKILL");
};

/** The messages of a transaction of a handler. */
const messages: Readonly<Record<string, RegExp>> = {
  BEGIN: /^BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL statement_timeout = \d+; SET LOCAL \w+ = \d+$/,
  "the statement": /^INSERT INTO effects/,
  "the end": /^SET LOCAL (?!.*\bPREPARE\b).*\bworkspace_tasks_end_all_.*; COMMIT$/s,
};

const query = pg.Client.prototype.query as (this: pg.Client, ...values: unknown[]) => unknown;
pg.Client.prototype.query = function (this: pg.Client, ...values: unknown[]) {
  const [first] = values;
  const text = typeof first === "string" ? first : String((first as { readonly text?: unknown }).text);
  const [message] = Object.entries(messages).find(([, pattern]) => pattern.test(text)) ?? [];
  reach(`before ${message} is sent`);
  const sent = Reflect.apply(query, this, values) as Promise<unknown>;
  if (message === undefined) return sent;
  setImmediate(() => reach(`${message} is sent`));
  // The server is between the end of the rows and the commit: a deferred trigger waits there.
  setTimeout(() => reach(`${message} was sent 200 ms ago`), 200);
  return sent.then((result) => {
    reach(`after ${message}`);
    return result;
  });
} as typeof pg.Client.prototype.query;

const pool = new pg.Pool({ connectionString, max: 12 });
pool.on("error", () => {});
const receiver = createReceiver({
  secrets: [`whsec_${Buffer.alloc(32).toString("base64")}`],
  inbox: postgresInbox(pool),
  logger: silentLogger,
  leaseMs: 1_000,
  retry: { attemptsMax: 3, firstDelayMs: 10, delayMsMax: 10 },
});
receiver.onBatch("*", async (items, { transaction }) => {
  reach("before the first query");
  await transaction.query("INSERT INTO effects SELECT * FROM unnest($1::text[])", [
    items.map(({ id }) => id),
  ]);
  reach("after the first query");
  if (items.some(({ id }) => id === "bad")) throw new Error("bad");
});
process.stdin.once("end", () => process.exit(1)).resume();
await receiver.start();
