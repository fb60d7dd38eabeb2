/** The columns by which a row is found and ordered; derived from the body, `null` where the body has no such thing. */
export interface EventColumns {
  /** Name of the event when it is printable text, else `null`. */
  readonly event: string | null;
  /** Key of the ordering head. */
  readonly orderKey: string | null;
  /** Position in the order of the key, as text that compares by bytes. */
  readonly position: string | null;
  /** The status that the event reports. */
  readonly status: string | null;
  /** The workspace that the event names. */
  readonly workspaceId: string | null;
}

export const emptyColumns: EventColumns = {
  event: null,
  orderKey: null,
  position: null,
  status: null,
  workspaceId: null,
};
