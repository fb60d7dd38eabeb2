/** The right to send one request. Exactly one of its methods is called, once. */
export interface Permit {
  readonly queuedMs: number;
  /** The request was counted; `respondedAtMs` is when the response headers arrived. */
  responded(respondedAtMs: number): void;
  /** The service rejected the request with 429. Returns how long all calls wait. */
  rejected(retryAfterMs: number | undefined): number;
  /** The request may have been counted, but no response arrived. */
  noResponse(): void;
  /** The request was not sent. */
  unused(): void;
}
