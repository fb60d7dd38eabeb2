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

/** A key whose state may be behind the service's. */
export interface ReconcileCandidate {
  readonly key: string;
  readonly reason: "running-too-long" | "dead" | "quarantined";
  /** `null` where it is not known. */
  readonly workspaceId: string | null;
}
