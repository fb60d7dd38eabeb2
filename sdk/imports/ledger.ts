import { isError } from "@workspace-tasks/kernel/realm.ts";
import * as s from "@workspace-tasks/kernel/schema.ts";
import { withTimeout } from "@workspace-tasks/kernel/with-timeout.ts";
import type { CallScope } from "../call/call-scope.ts";
import { isWorkspaceTasksError, WorkspaceTasksError } from "../errors.ts";
import type { CheckedOptions, ImportParts } from "./import-input.ts";
import { applyEntry, ImportState, type JournalEntry, parseEntry } from "./import-state.ts";
import { type ImportJournal, journalError } from "./journal/import-journal.ts";

const formatVersion = 1;
const timeoutMsOf = { open: 120_000, append: 30_000, close: 30_000 };

const entriesOf = s.refine<AsyncIterable<unknown>>(
  "an async iterable of entries",
  (opened) => typeof Object(opened)[Symbol.asyncIterator] === "function",
);

/** A second import with the same object would close the journal of the first. */
const journalsInUse = new WeakSet<ImportJournal>();

/** The state of an import and its journal, in step. After a failure of the journal every further entry is rejected. */
export function createLedger(
  { journal, connectionId }: CheckedOptions,
  { clock, redactor }: Pick<ImportParts, "clock" | "redactor">,
  scope: CallScope,
) {
  const state = new ImportState();
  const first: JournalEntry = ["import", formatVersion, connectionId];
  let queue: string[] = [];
  let written: Promise<void> = Promise.resolve();
  let next: Promise<void> | undefined;
  let [holdsJournal, hasEntries] = [false, false];

  /** The error of the journal itself, or another; without secrets. */
  function toError(error: unknown, other: () => WorkspaceTasksError): WorkspaceTasksError {
    const isOwn = isWorkspaceTasksError(error) && error.code.startsWith("JOURNAL_");
    const { code, message, cause } = isOwn ? error : other();
    return new WorkspaceTasksError(code, redactor.text(message), { cause: redactor.cause(cause) });
  }

  async function limited<Value>(what: keyof typeof timeoutMsOf, call: () => Promise<Value>): Promise<Value> {
    const timedOut = () => new Error(`${what} did not end within ${timeoutMsOf[what]} ms`);
    try {
      return await withTimeout(call(), timeoutMsOf[what], clock, timedOut);
    } catch (error) {
      const message = `could not ${what} it: ${isError(error) ? error.message : "it threw no Error"}`;
      throw toError(error, () => journalError("JOURNAL_FAILED", message, error));
    }
  }

  function replay(text: unknown, line: number): void {
    try {
      const entry = parseEntry(text);
      if ((line === 1) !== (entry[0] === "import"))
        throw new Error("expected the import in the first entry only");
      if (entry[0] === "import" && entry[1] !== formatVersion)
        throw journalError("JOURNAL_MISMATCH", `expected one of version ${formatVersion}, got ${entry[1]}`);
      if (entry[0] === "import" && entry[2] !== connectionId) {
        const [expected, got] = [JSON.stringify(connectionId), JSON.stringify(entry[2])];
        const message = `expected that of the connection ${expected}, got that of ${got}; use one for each connection`;
        throw journalError("JOURNAL_MISMATCH", message);
      }
      applyEntry(state, entry);
    } catch (error) {
      const problem = isError(error) ? error.message : "unknown";
      const message = `entry ${line}: ${problem}; restore the journal, or start with a new one`;
      throw toError(error, () => journalError("JOURNAL_DAMAGED", message));
    }
  }

  /** Resolves when the entries are durable. Those of concurrent calls are written together. */
  function record(...entries: readonly JournalEntry[]): Promise<void> {
    for (const entry of entries) applyEntry(state, entry);
    // With the first entry, so that an import that sent nothing leaves an empty journal.
    if (!hasEntries) queue.push(JSON.stringify(first));
    hasEntries = true;
    queue.push(...entries.map((entry) => JSON.stringify(entry)));
    next ??= written.then(() => {
      const group = queue;
      [queue, next] = [[], undefined];
      return limited("append", async () => journal.append(group));
    });
    written = next;
    return next;
  }

  return {
    state,
    record,
    /** Reads the journal. Errors: `JOURNAL_MISMATCH`, `JOURNAL_DAMAGED`, `JOURNAL_IN_USE`, `JOURNAL_FAILED`. */
    async open(): Promise<void> {
      const inUse = "another import of this process uses the object; pass one of its own to each";
      if (journalsInUse.has(journal)) throw journalError("JOURNAL_IN_USE", inUse);
      journalsInUse.add(journal);
      holdsJournal = true;
      const read = async () => {
        const opened = await limited("open", async () => {
          return entriesOf(await journal.open(), "open()")[Symbol.asyncIterator]();
        });
        for (let line = 1; ; line++) {
          const { done, value } = await limited("open", async () => ({ ...(await opened.next()) }));
          if (done === true || scope.failure) return;
          replay(value, line);
          hasEntries = true;
        }
      };
      await scope.race(read());
    },
    async close(): Promise<void> {
      if (!holdsJournal) return;
      await written.catch(() => {});
      await limited("close", async () => journal.close()).finally(() => journalsInUse.delete(journal));
    },
  };
}
