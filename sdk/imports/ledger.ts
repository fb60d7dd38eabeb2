import type { Clock } from "@workspace-tasks/kernel/clock.ts";
import { withTimeout } from "@workspace-tasks/kernel/with-timeout.ts";
import type { Redactor } from "../call/redactor.ts";
import { isWorkspaceTasksError, WorkspaceTasksError } from "../errors.ts";
import { applyEntry, ImportState, type JournalEntry, parseEntry } from "./import-state.ts";
import { type ImportJournal, journalError } from "./journal/import-journal.ts";

const formatVersion = 1;
const journalTimeoutMs = 30_000;

/** The state of an import and its journal, in step. After a failure of the journal every further entry is rejected. */
export class ImportLedger {
  readonly state = new ImportState();
  readonly #journal: ImportJournal;
  readonly #clock: Clock;
  readonly #redactor: Redactor;
  #queue: string[] = [];
  #written: Promise<void> = Promise.resolve();
  #next: Promise<void> | undefined;

  constructor(journal: ImportJournal, { clock, redactor }: { clock: Clock; redactor: Redactor }) {
    this.#journal = journal;
    this.#clock = clock;
    this.#redactor = redactor;
  }

  /** Reads the journal. Errors: `JOURNAL_MISMATCH`, `JOURNAL_DAMAGED`, `JOURNAL_IN_USE`, `JOURNAL_FAILED`. */
  async open(connectionId: string, jobName: string): Promise<void> {
    const first: JournalEntry = ["import", formatVersion, connectionId, jobName];
    const opened = await this.#limited("open", async () => this.#journal.open());
    const entries = opened[Symbol.asyncIterator]();
    for (let line = 1; ; line++) {
      const { done, value } = await this.#limited("open", async () => ({ ...(await entries.next()) }));
      if (done !== true) this.#replay(value, line, first);
      else if (line === 1) await this.record(first);
      if (done === true) break;
    }
    this.state.isReplayed = true;
  }

  /** Resolves when the entries are durable. Those of concurrent calls are written together. */
  record(...entries: readonly JournalEntry[]): Promise<void> {
    for (const entry of entries) {
      applyEntry(this.state, entry);
      this.#queue.push(JSON.stringify(entry));
    }
    this.#next ??= this.#written.then(() => {
      this.#next = undefined;
      return this.#limited("append", async () => this.#journal.append(this.#queue.splice(0)));
    });
    this.#written = this.#next;
    return this.#next;
  }

  async close(): Promise<void> {
    await this.#written.catch(() => {});
    await this.#limited("close", async () => this.#journal.close());
  }

  #replay(text: unknown, line: number, first: JournalEntry): void {
    try {
      const entry = parseEntry(text);
      if ((line === 1) !== (entry[0] === "import"))
        throw new Error("expected the import in the first entry only");
      if (line === 1 && JSON.stringify(entry) !== JSON.stringify(first)) throw mismatch(first, entry);
      applyEntry(this.state, entry);
    } catch (error) {
      const problem = error instanceof Error ? error.message : "unknown";
      const message = `entry ${line}: ${problem}; restore the journal, or start with a new one`;
      throw this.#toError(error, () => journalError("JOURNAL_DAMAGED", message));
    }
  }

  async #limited<Value>(what: string, call: () => Promise<Value>): Promise<Value> {
    const timedOut = () => new Error(`${what} did not end within ${journalTimeoutMs} ms`);
    try {
      return await withTimeout(call(), journalTimeoutMs, this.#clock, timedOut);
    } catch (error) {
      const message = `could not ${what} it: ${error instanceof Error ? error.message : "it threw no Error"}`;
      throw this.#toError(error, () => journalError("JOURNAL_FAILED", message, error));
    }
  }

  /** The error of the journal itself, or another; without secrets. */
  #toError(error: unknown, other: () => WorkspaceTasksError): WorkspaceTasksError {
    const isOwn = isWorkspaceTasksError(error) && error.code.startsWith("JOURNAL_");
    const { code, message, cause } = isOwn ? error : other();
    return new WorkspaceTasksError(code, this.#redactor.text(message), {
      cause: this.#redactor.cause(cause),
    });
  }
}

function mismatch(expected: JournalEntry, got: JournalEntry): WorkspaceTasksError {
  const text = `expected that of ${describe(expected)}, got that of ${describe(got)}; use a new journal`;
  return journalError("JOURNAL_MISMATCH", text);
}

const describe = ([, version, connectionId, jobName]: JournalEntry) =>
  `connection ${connectionId} and job name ${JSON.stringify(jobName)} (format ${version})`;
