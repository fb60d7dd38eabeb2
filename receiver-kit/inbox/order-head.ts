export interface InboxHead {
  readonly position: string;
  readonly status: string | null;
  /** Time since the head last advanced; negative when the clock was set back meanwhile. */
  readonly unchangedMs: number;
}

export interface InboxHeadReference {
  readonly source: string;
  /** `["taskId"]` or `["taskId","subTaskId"]`. */
  readonly key: string;
}

export interface InboxHeadSummary extends InboxHeadReference {
  readonly position: string;
  readonly status: string | null;
  readonly workspaceId: string | null;
  /** When the head last advanced. */
  readonly movedAtMs: number;
}

export interface InboxHeadFilter {
  readonly source: string;
  /** Only keys that start with this text. */
  readonly keyPrefix?: string | undefined;
  /** Only keys after this one; for pages, in the order of the keys. */
  readonly afterKey?: string | undefined;
  /** Default 50. */
  readonly limit?: number | undefined;
}

/** A key whose state may be behind the service's. */
export interface ReconcileCandidate {
  readonly key: string;
  readonly reason: "running-too-long" | "dead" | "quarantined";
  /** `null` where it is not known. */
  readonly workspaceId: string | null;
}
