import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import Database from "libsql";
import { createReceiver } from "workspace-tasks/receiver-kit";
import { sqliteInbox } from "workspace-tasks/receiver-kit/sqlite";
import { withFolder } from "../../test/support/with-folder.ts";
import { type Benchmark, cellOf, type MeasureOptions, type Result, tableOf } from "../benchmark.ts";
import { atMost, spread } from "../format.ts";
import { inTurns } from "../in-turns.ts";
import { startMeter } from "../meter.ts";
import { sampleBody } from "../sample-delivery.ts";
import { spreadIn } from "../statistics.ts";

const cases = {
  "700 B, file of the inbox (pages of 2 KB)": { bytes: 700, pageBytes: 2_048 },
  "700 B, file of an application (pages of 4 KB)": { bytes: 700, pageBytes: 4_096 },
  "700 B, pages of 16 KB": { bytes: 700, pageBytes: 16_384 },
  "8 KB, pages of 2 KB": { bytes: 8_000, pageBytes: 2_048 },
  "8 KB, pages of 16 KB": { bytes: 8_000, pageBytes: 16_384 },
  "100 KB, pages of 2 KB": { bytes: 100_000, pageBytes: 2_048 },
  "100 KB, pages of 16 KB": { bytes: 100_000, pageBytes: 16_384 },
} as const;
type Case = keyof typeof cases;
const names = Object.keys(cases) as Case[];
const [ours] = names as [Case];

export const benchmark: Benchmark = {
  title: "What one delivery writes",
  question: "How much does SQLite write for a small delivery that arrives alone and is handled?",
  answer: (result) => `${cellOf(result, ours, "KB written")} KB`,
  about:
    "A receiver on SQLite stores and handles deliveries one after the other (without HTTP and signature); the handler writes one row. Per delivery: KB " +
    "given to `write` (`wchar` in `/proc/self/io`), KB of pages that became dirty (`write_bytes`), and µs of CPU time.",
  notes: [
    "A delivery that arrives alone is three commits, each of which writes every changed page, whole. Deliveries that arrive together share commits.",
  ],
  measure,
};

async function measure({ quick }: MeasureOptions): Promise<Result> {
  const deliveries = quick ? 20 : 200;
  const rounds = await inTurns(names, { rounds: quick ? 1 : 5, warmUpRounds: quick ? 0 : 1 }, (name) =>
    receiveAlone(cases[name], deliveries),
  );
  return {
    goals: [
      atMost(
        "written for one delivery of 700 B that arrives alone and is handled",
        60,
        spreadIn(rounds, ours, "kilobytes"),
        "KB",
      ),
    ],
    tables: [
      tableOf(["", "KB written", "KB of dirty pages", "µs"], names, (name) => [
        name,
        spread(spreadIn(rounds, name, "kilobytes")),
        spread(spreadIn(rounds, name, "dirtyKilobytes")),
        spread(spreadIn(rounds, name, "cpuUs")),
      ]),
    ],
  };
}

function receiveAlone({ bytes, pageBytes }: (typeof cases)[Case], deliveries: number) {
  let measured = { kilobytes: 0, dirtyKilobytes: 0, cpuUs: 0 };
  const run = async (folder: string) => {
    const path = join(folder, "inbox.db");
    createFile(path, pageBytes);
    let onHandled = () => {};
    const inbox = sqliteInbox(path);
    const receiver = createReceiver({
      secrets: [secretOfNoRequest],
      inbox: {
        ...inbox,
        begin(...args: Parameters<typeof inbox.begin>) {
          const transaction = inbox.begin(...args);
          return { ...transaction, commit: () => transaction.commit().finally(() => onHandled()) };
        },
      },
    });
    receiver.on("*", async ({ event }, { id, transaction }) => {
      await transaction.query("INSERT INTO handled VALUES (?, ?)", [id, event]);
    });
    await receiver.start();
    const receive = async (index: number) => {
      const handled = new Promise<void>((resolve) => {
        onHandled = resolve;
      });
      const body = sampleBody(bytes, index, Number.MAX_SAFE_INTEGER);
      const timestamp = Math.floor(Date.now() / 1_000);
      await receiver.accept({ id: `msg_${randomUUID()}`, timestamp, body, secretIndex: 0 });
      await handled;
    };
    for (let index = 0; index < warmUp; index++) await receive(index);
    const before = readIo();
    const stop = startMeter();
    for (let index = warmUp; index < warmUp + deliveries; index++) await receive(index);
    const { cpuUs } = stop(deliveries);
    const after = readIo();
    const perDelivery = (field: "wchar" | "write_bytes") =>
      (after[field] - before[field]) / deliveries / 1_000;
    measured = { kilobytes: perDelivery("wchar"), dirtyKilobytes: perDelivery("write_bytes"), cpuUs };
    await receiver.close();
  };
  return withFolder(run).then(() => measured);
}

const secretOfNoRequest = `whsec_${Buffer.alloc(32, 1).toString("base64")}`;
const warmUp = 30;

/** The size of a page is fixed by the first table. */
function createFile(path: string, pageBytes: number): void {
  const database = new Database(path);
  database.exec(`PRAGMA page_size = ${pageBytes}; CREATE TABLE handled (id TEXT PRIMARY KEY, event TEXT)`);
  database.close();
}

/** What this process has written so far; Linux only. */
function readIo() {
  const text = readFileSync("/proc/self/io", "utf8");
  const field = (name: string) => Number(new RegExp(`^${name}: (\\d+)$`, "m").exec(text)?.[1] ?? Number.NaN);
  return { wchar: field("wchar"), write_bytes: field("write_bytes") };
}
