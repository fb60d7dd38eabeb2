import type { FailureError } from "../call/failure.ts";
import type { Priority, Queueable } from "./call-queue.ts";

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

/** A call's position in the queue; kept when the service rejects the request. */
export interface QueueEntry {
  readonly position: number;
  readonly priority: Priority;
  rejections: number;
}

/** The calls of one client. */
export interface ClientQueue {
  readonly maxQueued: number;
  readonly redactCause: (error: unknown) => unknown;
  /** How many calls wait. */
  queued: number;
}

export interface WaitingCall extends Queueable {
  readonly entry: QueueEntry;
  readonly client: ClientQueue;
  readonly sinceMs: number;
  /** The scope ends it earlier, or this does. */
  readonly endsAtMs: number;
  readonly resolve: (permit: Permit) => void;
  readonly reject: (error: FailureError) => void;
  /** Set while the scope of the call may end it. */
  stopWaiting: () => void;
}
