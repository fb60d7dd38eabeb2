import {
  type EventPayloads,
  isSubtaskEvent,
  isTaskEvent,
  knownEventNames,
  type SubtaskEvent,
  type TaskEvent,
  type WebhookEvent,
} from "@workspace-tasks/events";
import { didYouMean, editDistance } from "@workspace-tasks/kernel/did-you-mean.ts";
import { ReceiverError } from "../errors.ts";
import type { DeliveryChannel } from "../inbox/inbox.ts";

/** The patterns of `on` that this version knows, and the event each one receives. */
export type EventPatterns = EventPayloads & {
  readonly "task.*": TaskEvent;
  readonly "subtask.*": SubtaskEvent;
  readonly "*": WebhookEvent;
};

/** A known pattern, or the name of an event that the catalog may add, or `prefix.*`. */
export type EventPattern = keyof EventPatterns | (string & {});

/** What a handler of this pattern receives. */
export type EventOf<Pattern extends EventPattern> = Pattern extends keyof EventPatterns
  ? EventPatterns[Pattern]
  : WebhookEvent;

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
  readonly channel: DeliveryChannel;
  readonly receivedAtMs: number;
  /** The bytes that were signed. */
  readonly body: Uint8Array;
  /** Counted from 1; starts again when the event is replayed. */
  readonly attempt: number;
  /** The event was replayed by an operator. */
  readonly replayed: boolean;
  /** Something newer of the same task or stage has been applied before. Always false for state handlers. */
  readonly stale: boolean;
  /**
   * The same event has been applied before and is still the newest: it arrived in another delivery, as when two endpoints
   * lead here. Always false for state handlers.
   */
  readonly alreadyApplied: boolean;
  /**
   * Use it as the idempotency key of other services: the same for every attempt, and for every delivery of the same
   * event. It contains the `id` of the event, or the `webhook-id` where the event has none.
   */
  readonly idempotencyKey: string;
  /**
   * The transaction in which the event counts as handled. What is written through it takes effect exactly once;
   * everything else that a handler does may be repeated after a failure or a crash. Await every query: one that fails
   * without is `QUERY_NOT_AWAITED`, and one after the handler's end is rejected.
   */
  readonly transaction: Transaction;
  /** Aborted when the attempt ends before the handler: timeout, lost lease, shutdown. */
  readonly signal: AbortSignal;
}

export type EventHandler<Event, Transaction> = (
  event: Event,
  context: HandlerContext<Transaction>,
) => void | Promise<void>;

type DispatchContext = Pick<HandlerContext<unknown>, "channel" | "stale" | "alreadyApplied">;

export interface Registration<Transaction> {
  /** Such as `on("task.*")`. */
  readonly name: string;
  readonly pattern: string;
  matches(event: WebhookEvent, context: DispatchContext): boolean;
  readonly handler: EventHandler<WebhookEvent, Transaction>;
}

/** The registered handlers, in the order of their registration. */
export class Handlers<Transaction> {
  readonly #registrations: Registration<Transaction>[] = [];

  get isEmpty(): boolean {
    return this.#registrations.length === 0;
  }

  on<Pattern extends EventPattern>(
    pattern: Pattern,
    handler: EventHandler<EventOf<Pattern>, Transaction>,
  ): void {
    const test = testForEvent(pattern);
    this.#add("on", pattern, handler, (event, { channel }) => channel === "webhook" && test(event));
  }

  onState<Pattern extends StatePattern>(
    pattern: Pattern,
    handler: EventHandler<StatePatterns[Pattern], Transaction>,
  ): void {
    const test = testForState(pattern);
    this.#add("onState", pattern, handler, (event, context) => {
      return !context.stale && !context.alreadyApplied && test(event);
    });
  }

  #add<Event>(
    method: string,
    pattern: string,
    handler: EventHandler<Event, Transaction>,
    matches: Registration<Transaction>["matches"],
  ): void {
    if (typeof handler !== "function") {
      const message = `${method}: handler: expected a function, got ${typeof handler}`;
      throw new ReceiverError("ARGUMENT_INVALID", message);
    }
    this.#registrations.push({
      name: `${method}(${JSON.stringify(pattern)})`,
      pattern,
      matches,
      handler: handler as EventHandler<WebhookEvent, Transaction>,
    });
  }

  /** As `on("task.*")`. */
  get names(): readonly string[] {
    return this.#registrations.map(({ name }) => name);
  }

  /** Whether a handler is registered for such events, whatever was applied before. */
  includes(event: WebhookEvent): boolean {
    const context = { channel: "webhook", stale: false, alreadyApplied: false } as const;
    return this.#registrations.some((registration) => registration.matches(event, context));
  }

  /** The registered name that was probably meant for this event: a misspelt one. */
  misspeltNameOf(event: string): string | undefined {
    return this.#registrations.find(({ pattern }) => misspeltPattern(pattern) === event)?.name;
  }

  matching(event: WebhookEvent, context: DispatchContext): readonly Registration<Transaction>[] {
    return this.#registrations.filter((registration) => registration.matches(event, context));
  }
}

type Test = (event: WebhookEvent) => boolean;

const stateTests: Readonly<Record<StatePattern, Test>> = { task: isTaskEvent, subtask: isSubtaskEvent };
const groupTests: Readonly<Record<string, Test>> = {
  "task.*": isTaskEvent,
  "subtask.*": isSubtaskEvent,
  "*": () => true,
};

function testForEvent(pattern: string): Test {
  if (typeof pattern !== "string" || !/^[^\s*]+(?:\.\*)?$|^\*$/.test(pattern)) {
    const expected = "expected the name of an event, a prefix such as task.*, or *";
    throw new ReceiverError("ARGUMENT_INVALID", `on: ${expected}, got ${JSON.stringify(pattern)}`);
  }
  const group = Object.hasOwn(groupTests, pattern) ? groupTests[pattern] : undefined;
  if (group) return group;
  if (!pattern.endsWith(".*")) return ({ event }) => event === pattern;
  const prefix = pattern.slice(0, -1);
  return ({ event }) => event.startsWith(prefix);
}

function testForState(pattern: string): Test {
  if (Object.hasOwn(stateTests, pattern)) return stateTests[pattern as StatePattern];
  const known = Object.keys(stateTests);
  const got = `got ${JSON.stringify(pattern)}${didYouMean(String(pattern), known)}`;
  throw new ReceiverError("ARGUMENT_INVALID", `onState: expected one of ${known.join(", ")}, ${got}`);
}

/** The pattern that was probably meant, when `pattern` is not one that this version knows and differs by two letters. */
export function misspeltPattern(pattern: string): string | undefined {
  const known = [...knownEventNames, ...Object.keys(groupTests)];
  if (known.includes(pattern)) return undefined;
  return known.find((name) => name.length > 3 && editDistance(name, pattern) <= 2);
}
