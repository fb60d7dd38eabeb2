import {
  type EventPayloads,
  isSubtaskEvent,
  isTaskEvent,
  knownEventNames,
  type SubtaskEvent,
  type TaskEvent,
  type WebhookEvent,
} from "../../sdk/events/index.ts";
import type { Channel } from "../inbox/inbox.ts";

/** What `on` can listen to, and the event each one gets. Events without a schema here go to `*` only. */
export type EventPatterns = EventPayloads & {
  readonly "task.*": TaskEvent;
  readonly "subtask.*": SubtaskEvent;
  readonly "*": WebhookEvent;
};
export type EventPattern = keyof EventPatterns;

export type StatePatterns = { readonly task: TaskEvent; readonly subtask: SubtaskEvent };
export type StatePattern = keyof StatePatterns;

export type HandlerContext<Transaction> = {
  /** The `webhook-id`. */
  readonly id: string;
  readonly source: string;
  /** `reconcile`: not delivered but read from the tasks API; only state handlers see those. */
  readonly channel: Channel;
  readonly receivedAtMs: number;
  /** The bytes that were signed. */
  readonly body: Uint8Array;
  /** Counted from 1; starts anew when the event is replayed. */
  readonly attempt: number;
  /** Somebody asked for this event to be handled again. */
  readonly replayed: boolean;
  /** Something newer of the same task or stage has been applied before. Always false for state handlers. */
  readonly stale: boolean;
  /** The same for every attempt: give it to services outside as their idempotency key. */
  readonly idempotencyKey: string;
  /**
   * The transaction in which the event counts as handled. What is written through it takes effect exactly once;
   * everything else a handler does may be repeated after a failure or a crash.
   */
  readonly transaction: Transaction;
  /** Aborted when the attempt is over before the handler is: timeout, lost lease, shutdown. */
  readonly signal: AbortSignal;
};

export type EventHandler<Event, Transaction> = (
  event: Event,
  context: HandlerContext<Transaction>,
) => void | Promise<void>;

type Registration<Transaction> = {
  matches(event: WebhookEvent, context: DispatchContext): boolean;
  readonly handler: EventHandler<WebhookEvent, Transaction>;
};

export type DispatchContext = { readonly channel: Channel; readonly stale: boolean };

/** Which handlers run for an event, in the order they were registered. */
export class Handlers<Transaction> {
  readonly #registrations: Registration<Transaction>[] = [];

  on<Pattern extends EventPattern>(
    pattern: Pattern,
    handler: EventHandler<EventPatterns[Pattern], Transaction>,
  ): void {
    const fits = eventTest(pattern);
    this.#registrations.push({
      matches: (event, { channel }) => channel === "webhook" && fits(event),
      handler: handler as EventHandler<WebhookEvent, Transaction>,
    });
  }

  onState<Pattern extends StatePattern>(
    pattern: Pattern,
    handler: EventHandler<StatePatterns[Pattern], Transaction>,
  ): void {
    const fits = stateTest(pattern);
    this.#registrations.push({
      matches: (event, { stale }) => !stale && fits(event),
      handler: handler as EventHandler<WebhookEvent, Transaction>,
    });
  }

  matching(
    event: WebhookEvent,
    context: DispatchContext,
  ): readonly EventHandler<WebhookEvent, Transaction>[] {
    return this.#registrations
      .filter((registration) => registration.matches(event, context))
      .map(({ handler }) => handler);
  }
}

function eventTest(pattern: string): (event: WebhookEvent) => boolean {
  if (pattern === "*") return () => true;
  if (pattern === "task.*") return isTaskEvent;
  if (pattern === "subtask.*") return isSubtaskEvent;
  if ((knownEventNames as readonly string[]).includes(pattern)) return ({ event }) => event === pattern;
  const names = [...knownEventNames, "task.*", "subtask.*", "*"].join(", ");
  throw new TypeError(`on: expected one of ${names}, got ${JSON.stringify(pattern)}`);
}

function stateTest(pattern: string): (event: WebhookEvent) => boolean {
  if (pattern === "task") return isTaskEvent;
  if (pattern === "subtask") return isSubtaskEvent;
  throw new TypeError(`onState: expected task or subtask, got ${JSON.stringify(pattern)}`);
}
