import type { VirtualClock } from "@workspace-tasks/mock-server";
import type { InboxStore } from "../../../receiver-kit/inbox/inbox.ts";

/** A new, empty, open inbox with a clock of its own. */
export interface InboxFixture extends AsyncDisposable {
  readonly inbox: InboxStore;
  readonly clock: VirtualClock;
  /** A second handle on the same rows, open: another process, or the same one after a restart. */
  reopen(): Promise<InboxStore>;
  /** Records a handler's write in its transaction, and reads back which writes were kept, in their order. */
  readonly effects: {
    write(transaction: unknown, name: string): Promise<void>;
    kept(): Promise<readonly string[]>;
  };
  /** Contradictions between what is stored in several places, if there are such places. Called after each check. */
  contradictions?(): Promise<readonly unknown[]>;
}

export interface CrashFixture extends InboxFixture {
  /** Ends every handle as `kill -9` or a power failure does, without closing it, and returns a new, open one. */
  crash(): Promise<InboxStore>;
}

/** Checks by their sentences. Each gets a fixture of its own. */
export type Checks<Fixture = InboxFixture> = Readonly<Record<string, (fixture: Fixture) => Promise<void>>>;
