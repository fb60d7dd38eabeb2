/** The response to all three is the same, byte for byte: the sender has nothing left to do. */
export interface AcceptResult {
  readonly outcome: "accepted" | "duplicate" | "quarantined";
}

export interface AcceptContext {
  /** The trace that the request belongs to, as a W3C `traceparent`. It is not signed. */
  readonly traceparent?: string | undefined;
}
