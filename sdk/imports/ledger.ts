import { isError } from "@workspace-tasks/kernel/realm.ts";
import * as s from "@workspace-tasks/kernel/schema.ts";
import { withTimeout } from "@workspace-tasks/kernel/with-timeout.ts";
import type { CallScope } from "../call/call-scope.ts";
import { isWorkspaceTasksError, WorkspaceTasksError } from "../errors.ts";
import type { CheckedOptions, ImportParts } from "./import-input.ts";
import { applyEntry, ImportState, type JournalEntry, parseEntry } from "./import-state.ts";
import { journalError, type OpenJournal } from "./journal/import-journal.ts";

const formatVersion = 1;
const timeoutMsOf = { open: 120_000, read: 120_000, append: 30_000, close: 30_000 };
const openJournal = s.objectWith<OpenJournal>("one with read, append and close", "read", "append", "close");

const readable = s.refine<AsyncIterable<string>>(
  "an iterable of entries",
  (entries) => Symbol.asyncIterator in Object(entries) || Symbol.iterator in Object(entries),
);

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
  let lines = 0;
  let opened: OpenJournal | undefined;

  /** Throws the error of the journal itself, or `JOURNAL_FAILED`; without secrets. */
  async function limited<Value>(what: keyof typeof timeoutMsOf, call: () => Promise<Value>): Promise<Value> {
    const timedOut = () => new Error(`${what} did not end within ${timeoutMsOf[what]} ms`);
    try {
      return await withTimeout(call(), timeoutMsOf[what], clock, timedOut);
    } catch (error) {
      const text = `could not ${what} it: ${isError(error) ? error.message : "it threw no Error"}`;
      const failed = isWorkspaceTasksError(error) ? error : journalError("JOURNAL_FAILED", text, error);
      const { code, message, cause } = failed;
      throw new WorkspaceTasksError(code, redactor.text(message), { cause: redactor.cause(cause) });
    }
  }

  function replay(text: unknown): void {
    lines += 1;
    try {
      const entry = parseEntry(text);
      if ((lines === 1) !== (entry[0] === "import"))
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
      if (isWorkspaceTasksError(error) || !isError(error)) throw error;
      const message = `entry ${lines}: ${error.message}; restore the journal, or start with a new one`;
      throw journalError("JOURNAL_DAMAGED", message);
    }
  }

  /** Resolves when the entries are durable. Those of concurrent calls are written together. */
  function record(...entries: readonly JournalEntry[]): Promise<void> {
    for (const entry of entries) applyEntry(state, entry);
    // With the first entry, so that an import that sent nothing leaves an empty journal.
    const all = lines === 0 ? [first, ...entries] : entries;
    lines += all.length;
    queue.push(...all.map((entry) => JSON.stringify(entry)));
    next ??= written.then(() => {
      const group = queue;
      [queue, next] = [[], undefined];
      return limited("append", async () => opened?.append(group));
    });
    written = next;
    return next;
  }

  return {
    state,
    record,
    /** Reads the journal. Errors: `JOURNAL_MISMATCH`, `JOURNAL_DAMAGED`, `JOURNAL_IN_USE`, `JOURNAL_FAILED`. */
    async open(signal: AbortSignal): Promise<void> {
      const opening = (async () => openJournal(await journal.open(signal), "open()"))();
      try {
        opened = await scope.race(limited("open", () => opening));
      } catch (error) {
        // One that is opened too late is closed.
        opening.then((late) => late.close()).catch(() => {});
        throw error;
      }
      const replayAll = async () => {
        for await (const entry of readable((await opening).read(), "read()")) {
          if (scope.failure) return;
          replay(entry);
        }
      };
      await scope.race(limited("read", replayAll));
    },
    async close(): Promise<void> {
      await written.catch(() => {});
      await limited("close", async () => opened?.close());
    },
  };
}
