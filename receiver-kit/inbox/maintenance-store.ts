import type { InboxHead, ReconcileCandidate } from "./order-head.ts";

/** Small facts that outlive the process, by name. */
export type InboxMarks = Readonly<Record<string, string>>;

export interface InboxRetention {
  /** How long the bodies of settled rows are kept. */
  readonly bodiesMs: number;
  /** How long settled rows, and with them their ids, are kept. */
  readonly rowsMs: number;
  /** How long unchanged ordering heads are kept. */
  readonly headsMs: number;
  /** How long the bodies of dead and quarantined rows are kept. */
  readonly unhandledBodiesMs: number;
  /** Counts ages up to this time where the inbox's clock is ahead of it. Default: the inbox's clock. */
  readonly asOfMs?: number | undefined;
}

/** For reconciling and retention. */
export interface InboxMaintenanceStore {
  head(source: string, key: string): Promise<InboxHead | undefined>;
  /**
   * Keys whose head is RUNNING and has not advanced for `runningForMs`, and keys with dead or quarantined rows that their
   * heads do not cover. In the order of the keys, each key once, so that pages reach every candidate.
   */
  reconcileCandidates(options: {
    readonly source: string;
    readonly runningForMs: number;
    /** Only keys after this one. */
    readonly afterKey: string;
    readonly limit: number;
  }): Promise<readonly ReconcileCandidate[]>;
  /** The marks of a source, and the inbox's time. */
  readMarks(source: string): Promise<{ readonly nowMs: number; readonly marks: InboxMarks }>;
  /** Writes these marks and keeps the others. Durable when it resolves. */
  writeMarks(source: string, marks: InboxMarks): Promise<void>;
  /**
   * Removes at most `rowsMax` of each kind, oldest first; returns how many it changed, to be called until 0. A replayed row
   * is as old as its last replay. Kept, whatever their age: pending and running rows with their bodies, dead and
   * quarantined rows (without bodies after their limit), and the head of a key with a waiting row.
   */
  purge(retention: InboxRetention, rowsMax: number): Promise<number>;
}
