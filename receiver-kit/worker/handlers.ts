import {
  type EventPayloads,
  isSubtaskEvent,
  isTaskEvent,
  knownEventNames,
  type SubtaskEvent,
  type TaskEvent,
  type WebhookEvent,
} from "../../sdk/events/index.ts";
import { ReceiverError } from "../errors.ts";
import type { Channel } from "../inbox/inbox.ts";

/** The patterns of `on`, and the event each one receives. Events without a schema go to `*` only. */
export type EventPatterns = EventPayloads & {
  readonly "task.*": TaskEvent;
  readonly "subtask.*": SubtaskEvent;
  readonly "*": WebhookEvent;
};
export type EventPattern = keyof EventPatterns;

export interface StatePatterns {
  readonly task: TaskEvent;
  readonly subtask: SubtaskEvent;
}
export type StatePattern = keyof StatePatterns;

export interface HandlerContext<Transaction> {
  /** The `webhook-id`. */
  readonly id: string;
  readonly source: string;
  /** Whose event it is, where `secrets` finds the tenant. */
  readonly tenant: string | undefined;
  /** Index of the secret that signed the delivery; `undefined` for events that `reconcile` found. */
  readonly secretIndex: number | undefined;
  /** The trace that the delivery came with, as a W3C `traceparent`; it is not signed. */
  readonly traceparent: string | undefined;
  /** `reconcile`: not delivered but read from the tasks API; only state handlers receive those. */
  readonly channel: Channel;
  readonly receivedAtMs: number;
  /** The bytes that were signed. */
  readonly body: Uint8Array;
  /** Counted from 1; starts again when the event is replayed. */
  readonly attempt: number;
  /** The event was replayed by an operator. */
  readonly replayed: boolean;
  /** Something newer of the same task or stage has been applied before. Always false for state handlers. */
  readonly stale: boolean;
  /** The same for every attempt: use it as the idempotency key of other services. */
  readonly idempotencyKey: string;
  /**
   * The transaction in which the event counts as handled. What is written through it takes effect exactly once;
   * everything else that a handler does may be repeated after a failure or a crash.
   */
  readonly transaction: Transaction;
  /** Aborted when the attempt ends before the handler: timeout, lost lease, shutdown. */
  readonly signal: AbortSignal;
}

export type EventHandler<Event, Transaction> = (
  event: Event,
  context: HandlerContext<Transaction>,
) => void | Promise<void>;

export interface DispatchContext {
  readonly channel: Channel;
  readonly stale: boolean;
}

interface Registration<Transaction> {
  matches(event: WebhookEvent, context: DispatchContext): boolean;
  readonly handler: EventHandler<WebhookEvent, Transaction>;
}

/** The registered handlers, in the order of their registration. */
export class Handlers<Transaction> {
  readonly #registrations: Registration<Transaction>[] = [];

  on<Pattern extends EventPattern>(
    pattern: Pattern,
    handler: EventHandler<EventPatterns[Pattern], Transaction>,
  ): void {
    const test = testFor("on", eventTests, pattern);
    this.#add("on", handler, (event, { channel }) => channel === "webhook" && test(event));
  }

  onState<Pattern extends StatePattern>(
    pattern: Pattern,
    handler: EventHandler<StatePatterns[Pattern], Transaction>,
  ): void {
    const test = testFor("onState", stateTests, pattern);
    this.#add("onState", handler, (event, { stale }) => !stale && test(event));
  }

  #add<Event>(
    method: string,
    handler: EventHandler<Event, Transaction>,
    matches: Registration<Transaction>["matches"],
  ): void {
    if (typeof handler !== "function") {
      const message = `${method}: handler: expected a function, got ${typeof handler}`;
      throw new ReceiverError("ARGUMENT_INVALID", message);
    }
    this.#registrations.push({ matches, handler: handler as EventHandler<WebhookEvent, Transaction> });
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

const stateTests: Tests = { task: isTaskEvent, subtask: isSubtaskEvent };
const eventTests: Tests = {
  ...Object.fromEntries(knownEventNames.map((name) => [name, ({ event }: WebhookEvent) => event === name])),
  "task.*": isTaskEvent,
  "subtask.*": isSubtaskEvent,
  "*": () => true,
};
type Tests = Readonly<Record<string, (event: WebhookEvent) => boolean>>;

function testFor(method: string, tests: Tests, pattern: string): Tests[string] {
  const test = Object.hasOwn(tests, pattern) ? tests[pattern] : undefined;
  if (test) return test;
  const expected = `expected one of ${Object.keys(tests).join(", ")}`;
  throw new ReceiverError("ARGUMENT_INVALID", `${method}: ${expected}, got ${JSON.stringify(pattern)}`);
}
