import type { FailureError } from "../call/failure.ts";
import type { Priority, Queueable } from "./call-queue.ts";
import type { Permit } from "./permit.ts";

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
