/** The columns that make a row findable and orderable; derived from the body, absent where it has none. */
export type EventColumns = {
  /** Name of the event when it is printable text, else `null`. */
  readonly event: string | null;
  /** Key of the ordering head, position within it as comparable text, and the status reported. */
  readonly orderKey: string | null;
  readonly position: string | null;
  readonly status: string | null;
};

export const emptyColumns: EventColumns = { event: null, orderKey: null, position: null, status: null };
