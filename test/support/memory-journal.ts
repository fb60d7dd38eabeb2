import type { ImportJournal, OpenJournal } from "@workspace-tasks/sdk";

/** A journal in memory, which several clients of a test can open one after the other. */
export class MemoryJournal implements ImportJournal, OpenJournal {
  readonly entries: string[];
  groups = 0;
  closed = 0;

  constructor(entries: readonly string[] = []) {
    this.entries = [...entries];
  }

  async open(): Promise<OpenJournal> {
    return this;
  }

  async *read(): AsyncGenerator<string> {
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
export async function openJournal(journal: ImportJournal) {
  const opened = await journal.open(new AbortController().signal);
  const entries: string[] = [];
  try {
    for await (const entry of opened.read()) entries.push(entry);
  } catch (error) {
    await opened.close();
    throw error;
  }
  return { ...opened, entries };
}
