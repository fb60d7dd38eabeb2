import { type ErrorCode, WorkspaceTasksError } from "../../errors.ts";

/**
 * Where an import notes what it does, so that another process can continue it: `fileJournal`, `postgresJournal`, or your
 * own. Calls come one after the other; each may take 30 s, `open` two minutes. One that fails or takes longer ends the import.
 */
export interface ImportJournal {
  /** Opens the journal for this process alone, and yields its entries from the first to the last. */
  open(): AsyncIterable<string>;
  /** Adds entries after the last one: all in order, or after a crash a first part of them. Durable when it resolves. */
  append(entries: readonly string[]): Promise<void>;
  /** Lets other processes open the journal. Called once after `open`, also when that failed or waits. */
  close(): Promise<void>;
}

/** An error of a journal: nothing was sent that it does not know of. */
export function journalError(code: ErrorCode & `JOURNAL_${string}`, message: string, cause?: unknown) {
  return new WorkspaceTasksError(code, `partner.imports.start: journal: ${message}`, { cause });
}
