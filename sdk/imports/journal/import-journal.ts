import { type ErrorCode, WorkspaceTasksError } from "../../errors.ts";

/** Where an import notes what it does, so that another process can continue it: `fileJournal`, `postgresJournal`, or your own. */
export interface ImportJournal {
  /** Opens the journal for one import alone, within two minutes. An import that ends before aborts the signal. */
  open(signal: AbortSignal): Promise<OpenJournal>;
}

/** An open journal. Calls come one after the other; one that fails, or takes longer than 30 s, ends the import. */
export interface OpenJournal {
  /** Yields its entries from the first to the last, within two minutes. Called once, and first. */
  read(): AsyncIterable<string>;
  /** Adds entries after the last one: all in order, or after a crash a first part of them. Durable when it resolves. */
  append(entries: readonly string[]): Promise<void>;
  /** Lets other imports open the journal. */
  close(): Promise<void>;
}

/** An error of a journal: nothing was sent that it does not know of. */
export function journalError(code: ErrorCode & `JOURNAL_${string}`, message: string, cause?: unknown) {
  return new WorkspaceTasksError(code, `partner.imports.start: journal: ${message}`, { cause });
}
