/// <reference lib="esnext.disposable" preserve="true" />
import type { Inbox, InboxKeyOrder } from "../inbox/inbox.ts";

/** A clock that a check moves. `createVirtualClock()` of `workspace-tasks/mock-server` is one. */
export interface InboxTestClock {
  now(): number;
  /** Sets the time, also back. */
  setNow(ms: number): void;
  advance(ms: number): unknown;
}

/** A new, empty, open inbox. Its time, `inbox.clock` in most cases, is that of `clock` and nothing else. */
export interface InboxFixture extends AsyncDisposable {
  readonly inbox: Inbox;
  readonly clock: InboxTestClock;
  /** A second handle on the same rows, open: another process, or the same one after a restart. */
  reopen(): Promise<Inbox>;
  /** Records a handler's write in its transaction, and reads back which writes were kept, in their order. */
  readonly effects: {
    write(transaction: unknown, name: string): Promise<void>;
    kept(): Promise<readonly string[]>;
  };
  /**
   * Ends every handle as `kill -9` or a power failure does, without closing it, and returns a new, open one. Without it the
   * checks of crashes are left out.
   */
  crash?(): Promise<Inbox>;
  /** Contradictions between what is stored in several places, if there are such places. Called between operations. */
  contradictions?(keyOrder: InboxKeyOrder): Promise<readonly unknown[]>;
}
