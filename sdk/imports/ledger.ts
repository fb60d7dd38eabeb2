import type { Clock } from "@workspace-tasks/kernel/clock.ts";
import { withTimeout } from "@workspace-tasks/kernel/with-timeout.ts";
import type { Redactor } from "../call/redactor.ts";
import { isWorkspaceTasksError, WorkspaceTasksError } from "../errors.ts";
import { ImportState } from "./import-state.ts";
import { type ImportJournal, journalError } from "./journal/import-journal.ts";
import { type JournalEntry, parseEntry } from "./journal/journal-entry.ts";

const formatVersion = 1;
const journalTimeoutMs = 30_000;

/** Which import a journal belongs to. */
export interface ImportIdentity {
  readonly connectionId: string;
  readonly jobName: string;
}

export interface LedgerOptions {
  readonly clock: Clock;
  readonly redactor: Redactor;
}

/** The state of an import and its journal, in step. After a failure of the journal every further entry is rejected. */
export class ImportLedger {
  readonly state = new ImportState();
  readonly #journal: ImportJournal;
  readonly #clock: Clock;
  readonly #redactor: Redactor;
  #queue: string[] = [];
  #written: Promise<void> = Promise.resolve();
  #next: Promise<void> | undefined;

  constructor(journal: ImportJournal, { clock, redactor }: LedgerOptions) {
    this.#journal = journal;
    this.#clock = clock;
    this.#redactor = redactor;
  }

  /** Reads the journal. Errors: `JOURNAL_MISMATCH`, `JOURNAL_DAMAGED`, `JOURNAL_IN_USE`, `JOURNAL_FAILED`. */
  async open(identity: ImportIdentity): Promise<void> {
    const entries = await this.#limited("open", async () =>
      (await this.#journal.open())[Symbol.asyncIterator](),
    );
    let count = 0;
    for (;;) {
      const { done, value } = await this.#limited("open", async () => ({ ...(await entries.next()) }));
      if (done === true) break;
      this.#replay(value, ++count, identity);
    }
    this.state.endReplay();
    const { connectionId, jobName } = identity;
    if (count === 0) await this.record(["import", formatVersion, connectionId, jobName]);
  }

  /** Resolves when the entries are durable. Those of concurrent calls are written together. */
  record(...entries: readonly JournalEntry[]): Promise<void> {
    for (const entry of entries) {
      this.state.apply(entry);
      this.#queue.push(JSON.stringify(entry));
    }
    this.#next ??= this.#written.then(() => {
      this.#next = undefined;
      const group = this.#queue;
      this.#queue = [];
      return this.#limited("append", async () => this.#journal.append(group));
    });
    this.#written = this.#next;
    return this.#next;
  }

  async close(): Promise<void> {
    await this.#written.catch(() => {});
    await this.#limited("close", async () => this.#journal.close());
  }

  #replay(text: unknown, line: number, { connectionId, jobName }: ImportIdentity): void {
    const entry = this.#applied(text, line);
    if (entry[0] !== "import") return;
    const [, version, ...own] = entry;
    if (version === formatVersion && own[0] === connectionId && own[1] === jobName) return;
    const expected = `connection ${connectionId} and job name ${JSON.stringify(jobName)}`;
    const got = `${own[0]} and ${JSON.stringify(own[1])} (format ${version})`;
    const message = `expected that of ${expected}, got that of ${got}; use a new journal`;
    throw this.#redacted(journalError("JOURNAL_MISMATCH", message));
  }

  #applied(text: unknown, line: number): JournalEntry {
    try {
      const entry = parseEntry(text);
      if ((line === 1) !== (entry[0] === "import"))
        throw new Error("expected the import in the first entry only");
      this.state.apply(entry);
      return entry;
    } catch (error) {
      const problem = error instanceof Error ? error.message : "unknown";
      const message = `entry ${line}: ${problem}; restore the journal, or start with a new one`;
      throw this.#redacted(journalError("JOURNAL_DAMAGED", message));
    }
  }

  async #limited<Value>(what: string, call: () => Promise<Value>): Promise<Value> {
    const timedOut = () => new Error(`${what} did not end within ${journalTimeoutMs} ms`);
    try {
      return await withTimeout(call(), journalTimeoutMs, this.#clock, timedOut);
    } catch (error) {
      const message = `could not ${what} it: ${error instanceof Error ? error.message : "it threw no Error"}`;
      const isOwn = isWorkspaceTasksError(error) && error.code.startsWith("JOURNAL_");
      throw this.#redacted(isOwn ? error : journalError("JOURNAL_FAILED", message, error));
    }
  }

  #redacted({ code, message, cause }: WorkspaceTasksError): WorkspaceTasksError {
    return new WorkspaceTasksError(code, this.#redactor.text(message), {
      cause: this.#redactor.cause(cause),
    });
  }
}
