import type { ImportJournal } from "@workspace-tasks/sdk";

/** A journal in memory, which several clients of a test can open one after the other. */
export class MemoryJournal implements ImportJournal {
  readonly entries: string[];
  groups = 0;
  closed = 0;

  constructor(entries: readonly string[] = []) {
    this.entries = [...entries];
  }

  async *open(): AsyncGenerator<string> {
    yield* [...this.entries];
  }

  async append(entries: readonly string[]): Promise<void> {
    this.groups += 1;
    this.entries.push(...entries);
  }

  async close(): Promise<void> {
    this.closed += 1;
  }
}

/** Opens a journal and reads it to its end. */
export async function openJournal(journal: ImportJournal): Promise<readonly string[]> {
  const entries: string[] = [];
  for await (const entry of journal.open()) entries.push(entry);
  return entries;
}
