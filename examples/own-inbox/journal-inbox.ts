// A durable inbox in a hundred lines: a journal of calls in a file, in front of the rules of the memory inbox.
// docs/own-inbox.md explains it. For one process, and for as many rows as fit into memory.

import {
  appendFileSync,
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readFileSync,
  truncateSync,
} from "node:fs";
import { type Clock, type Inbox, memoryInbox, ReceiverError } from "workspace-tasks/receiver-kit";

/** What handlers see as `context.transaction`: values that are kept together with the event, or not at all. */
export interface JournalTransaction {
  set(name: string, value: unknown): void;
}

export interface JournalInbox extends Inbox<JournalTransaction> {
  /** What handlers have set. */
  readonly values: ReadonlyMap<string, unknown>;
}

type Claim = Parameters<Inbox["begin"]>[0];
type Settlement = Parameters<Inbox["begin"]>[1];
type AnyMethod = (...values: unknown[]) => Promise<unknown>;

// #region entries
/** A line of the journal: a call that changes something, and its time. */
interface Entry {
  readonly atMs: number;
  readonly method: (typeof changingMethods)[number] | "commit";
  readonly values: readonly unknown[];
}

const changingMethods = [
  ...(["insert", "claim", "renew", "fail", "repairTimes", "replay", "discard"] as const),
  ...(["beginInline", "finishInline", "advanceHead", "resetHead", "writeMarks", "purge"] as const),
];

/** A lost claim or renewal is a lease that ended: nothing was reported yet. */
const mayBeLost = new Set<string>(["claim", "renew"]);
// #endregion

// #region text
function toLine(entry: Entry): string {
  const text = JSON.stringify(entry, function (this: Record<string, unknown>, name, value) {
    const given = this[name];
    if (given instanceof Uint8Array) return { base64: Buffer.from(given).toString("base64") };
    // Of a lease; the rules keep it.
    return given instanceof Set ? undefined : value;
  });
  return `${text}\n`;
}

function fromLine(line: string): Entry {
  return JSON.parse(line, (_, value) =>
    typeof value?.base64 === "string" ? Buffer.from(value.base64, "base64") : value,
  ) as Entry;
}
// #endregion

export function journalInbox(path: string, clock: Clock): JournalInbox {
  const values = new Map<string, unknown>();
  let file: number | undefined;
  let replayedAtMs: number | undefined;
  // The rules depend on calls and times alone, so the same journal leads to the same rows, heads and leases.
  const rules = memoryInbox({ clock: { ...clock, now: () => replayedAtMs ?? clock.now() } });

  // #region commit
  /** A handler's writes, the end of its row and the advance of its head are one line. */
  const commit = (claim: Claim, settlement: Settlement, writes: readonly (readonly [string, unknown])[]) => {
    const transaction = rules.begin(claim, settlement, { timeoutMs: 0 });
    for (const [name, value] of writes) transaction.handle.apply(() => values.set(name, value));
    return transaction.commit();
  };
  // #endregion

  // #region journal
  /** Durable, then done: after a crash the journal has everything that was reported. */
  const record = (entry: Entry) => {
    if (file === undefined) throw new ReceiverError("INBOX_UNAVAILABLE", "journal inbox: expected open()");
    appendFileSync(file, toLine(entry));
    if (!mayBeLost.has(entry.method)) fsyncSync(file);
    return run(entry);
  };
  const run = ({ method, values }: Entry) =>
    method === "commit"
      ? commit(...(values as Parameters<typeof commit>))
      : (rules[method] as AnyMethod)(...values);

  const open = async () => {
    if (file !== undefined) return;
    const text = existsSync(path) ? readFileSync(path, "utf8") : "";
    const complete = text.slice(0, text.lastIndexOf("\n") + 1);
    for (const line of complete.split("\n").slice(0, -1)) {
      const entry = fromLine(line);
      replayedAtMs = entry.atMs;
      // What had failed fails again.
      await run(entry).catch(() => undefined);
    }
    replayedAtMs = undefined;
    // A crash may have cut off the last line, before anything was reported about it.
    if (complete !== text) truncateSync(path, Buffer.byteLength(complete));
    file = openSync(path, "a", 0o600);
  };
  // #endregion

  const close = async () => {
    if (file !== undefined) closeSync(file);
    file = undefined;
  };

  // #region transaction
  const begin: JournalInbox["begin"] = (claim, settlement) => {
    const writes: (readonly [string, unknown])[] = [];
    let ended = false;
    return {
      handle: {
        set(name, value) {
          if (ended) throw new ReceiverError("TRANSACTION_ENDED", "the transaction of this event has ended");
          writes.push([name, value]);
        },
      },
      async commit() {
        ended = true;
        const { body, ...row } = claim;
        const entry = { atMs: clock.now(), method: "commit", values: [row, settlement, writes] } as const;
        return (await record(entry)) as Awaited<ReturnType<typeof commit>>;
      },
      async rollback() {
        ended = true;
        return undefined;
      },
    };
  };
  // #endregion

  const changing = changingMethods.map((method) => [
    method,
    async (...given: unknown[]) => record({ atMs: clock.now(), method, values: given }),
  ]);
  return { ...rules, ...Object.fromEntries(changing), durable: true, values, open, close, begin };
}
