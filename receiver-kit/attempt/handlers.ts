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
import * as s from "@workspace-tasks/kernel/schema.ts";
import { ReceiverError } from "../errors.ts";
import type { DeliveryChannel, InboxClaim } from "../inbox/inbox.ts";
import { defaults, parseOptions } from "../options.ts";

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

/** What is known of the delivery of an event, and of its place among the others of its task or stage. */
export interface EventContext {
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
   * event, and another one for each other source, tenant and event. It contains the `id` of the event, or the `webhook-id` where
   * the event has none; the hash of an id with other characters than letters, digits, `.`, `_` and `-`.
   */
  readonly idempotencyKey: string;
}

export interface TransactionContext<Transaction> {
  /**
   * The transaction in which the event counts as handled. What is written through it takes effect exactly once;
   * everything else that a handler does may be repeated after a failure or a crash. Await every query: one that fails
   * without is `QUERY_NOT_AWAITED`, and one after the handler's end is rejected.
   */
  readonly transaction: Transaction;
  /** Aborted when the attempt ends before the handler: timeout, lost lease, shutdown. */
  readonly signal: AbortSignal;
}

export interface HandlerContext<Transaction> extends EventContext, TransactionContext<Transaction> {}

/** One event of a batch. */
export interface BatchItem<Event> extends EventContext {
  readonly event: Event;
}

/** Events of one source, or of one tenant; those of one task or stage follow each other, oldest first. */
export type BatchHandler<Event, Transaction> = (
  items: readonly BatchItem<Event>[],
  context: TransactionContext<Transaction>,
) => void | Promise<void>;

export interface BatchOptions {
  /** How many events the handler gets at most. Default 100. */
  readonly eventsMax?: number | undefined;
}

const batchOptions = s.strictOptions<BatchOptions>()({
  eventsMax: s.withDefault(s.positiveInteger, defaults.worker.eventsMax),
});

export type EventHandler<Event, Transaction> = (
  event: Event,
  context: HandlerContext<Transaction>,
) => void | Promise<void>;

type DispatchContext = Pick<HandlerContext<unknown>, "channel" | "stale" | "alreadyApplied">;

interface Matching {
  /** Such as `on("task.*")`. */
  readonly name: string;
  readonly pattern: string;
  /** The names of the events that may match: one, or those with a prefix. */
  readonly names: string;
  matches(event: WebhookEvent, context: DispatchContext): boolean;
}

export interface Registration<Transaction> extends Matching {
  readonly handler: EventHandler<WebhookEvent, Transaction>;
}

export interface BatchRegistration<Transaction> extends Matching {
  /** Whether it gets only the newest event of a task or stage. */
  readonly isState: boolean;
  readonly eventsMax: number;
  readonly handler: BatchHandler<WebhookEvent, Transaction>;
}

/** The registered handlers, in the order of their registration. */
export class Handlers<Transaction> {
  readonly #registrations: Registration<Transaction>[] = [];
  readonly #batches: BatchRegistration<Transaction>[] = [];
  #isStarted = false;

  get #all(): readonly Matching[] {
    return [...this.#registrations, ...this.#batches];
  }

  get isEmpty(): boolean {
    return this.#all.length === 0;
  }

  /** The size of the largest batch; 0 without batches. */
  get eventsMax(): number {
    return Math.max(0, ...this.#batches.map(({ eventsMax }) => eventsMax));
  }

  on<Pattern extends EventPattern>(
    pattern: Pattern,
    handler: EventHandler<EventOf<Pattern>, Transaction>,
  ): void {
    this.#add(this.#registrations, { ...forEvents("on", pattern, handler), handler: handler as never });
  }

  onBatch<Pattern extends EventPattern>(
    pattern: Pattern,
    handler: BatchHandler<EventOf<Pattern>, Transaction>,
    options: BatchOptions = {},
  ): void {
    const { eventsMax } = parseOptions("onBatch", batchOptions, options, "ARGUMENT_INVALID");
    const matching = forEvents("onBatch", pattern, handler);
    this.#add(this.#batches, { ...matching, isState: false, eventsMax, handler: handler as never });
  }

  onState<Pattern extends StatePattern>(
    pattern: Pattern,
    handler: EventHandler<StatePatterns[Pattern], Transaction>,
  ): void {
    this.#add(this.#registrations, { ...forStates("onState", pattern, handler), handler: handler as never });
  }

  onStateBatch<Pattern extends StatePattern>(
    pattern: Pattern,
    handler: BatchHandler<StatePatterns[Pattern], Transaction>,
    options: BatchOptions = {},
  ): void {
    const { eventsMax } = parseOptions("onStateBatch", batchOptions, options, "ARGUMENT_INVALID");
    const matching = forStates("onStateBatch", pattern, handler);
    this.#add(this.#batches, { ...matching, isState: true, eventsMax, handler: handler as never });
  }

  #add<Added extends Matching>(registered: Added[], added: Added): void {
    registered.push(added);
    if (!this.#isStarted) return;
    try {
      this.requireOneOfBatches();
    } catch (error) {
      registered.pop();
      throw error;
    }
  }

  /**
   * At the start; from then on for each handler that is added.
   *
   * @throws {ReceiverError} `CONFIGURATION_INVALID` when an event of a batch may match another handler, too
   */
  requireOneOfBatches(): void {
    for (const batch of this.#batches) {
      const other = this.#all.find((each) => each !== batch && overlap(each.names, batch.names));
      if (!other) continue;
      const message = `${batch.name} and ${other.name} match the same events: expected one handler for the events of a batch`;
      throw new ReceiverError("CONFIGURATION_INVALID", message);
    }
    this.#isStarted = true;
  }

  /** The handler of batches that a row belongs to. */
  batchOf({
    event,
    channel,
  }: Pick<InboxClaim, "event" | "channel">): BatchRegistration<Transaction> | undefined {
    if (this.#batches.length === 0 || event === null) return undefined;
    return this.#batches.find(
      ({ names, isState }) => (isState || channel === "webhook") && overlap(names, event),
    );
  }

  /** As `on("task.*")`. */
  get names(): readonly string[] {
    return this.#all.map(({ name }) => name);
  }

  /** Whether a handler is registered for such events, whatever was applied before. */
  includes(event: WebhookEvent): boolean {
    const context = { channel: "webhook", stale: false, alreadyApplied: false } as const;
    return this.#all.some((registration) => registration.matches(event, context));
  }

  /** The registered name that was probably meant for this event: a misspelt one. */
  misspeltNameOf(event: string): string | undefined {
    return this.#all.find(({ pattern }) => misspeltPattern(pattern) === event)?.name;
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

function forEvents(method: string, pattern: string, handler: unknown): Matching {
  const test = testForEvent(method, pattern);
  requireHandler(method, handler);
  const matches: Matching["matches"] = (event, { channel }) => channel === "webhook" && test(event);
  return { name: `${method}(${JSON.stringify(pattern)})`, pattern, names: pattern, matches };
}

function forStates(method: string, pattern: string, handler: unknown): Matching {
  const test = testForState(method, pattern);
  requireHandler(method, handler);
  const matches: Matching["matches"] = (event, { stale, alreadyApplied }) =>
    !stale && !alreadyApplied && test(event);
  return { name: `${method}(${JSON.stringify(pattern)})`, pattern, names: `${pattern}.*`, matches };
}

function requireHandler(method: string, handler: unknown): void {
  if (typeof handler === "function") return;
  const message = `${method}: handler: expected a function, got ${typeof handler}`;
  throw new ReceiverError("ARGUMENT_INVALID", message);
}

/** Whether both have a name in common. */
function overlap(a: string, b: string): boolean {
  const [prefix, other] = [prefixOf(a), prefixOf(b)];
  if (prefix === undefined) return other === undefined ? a === b : a.startsWith(other);
  return other === undefined ? b.startsWith(prefix) : prefix.startsWith(other) || other.startsWith(prefix);
}

const prefixOf = (names: string) => (names.endsWith("*") ? names.slice(0, -1) : undefined);

function testForEvent(method: string, pattern: string): Test {
  if (typeof pattern !== "string" || !/^[^\s*]+(?:\.\*)?$|^\*$/.test(pattern)) {
    const expected = "expected the name of an event, a prefix such as task.*, or *";
    throw new ReceiverError("ARGUMENT_INVALID", `${method}: ${expected}, got ${JSON.stringify(pattern)}`);
  }
  const group = Object.hasOwn(groupTests, pattern) ? groupTests[pattern] : undefined;
  if (group) return group;
  if (!pattern.endsWith(".*")) return ({ event }) => event === pattern;
  const prefix = pattern.slice(0, -1);
  return ({ event }) => event.startsWith(prefix);
}

function testForState(method: string, pattern: string): Test {
  if (Object.hasOwn(stateTests, pattern)) return stateTests[pattern as StatePattern];
  const known = Object.keys(stateTests);
  const got = `got ${JSON.stringify(pattern)}${didYouMean(String(pattern), known)}`;
  throw new ReceiverError("ARGUMENT_INVALID", `${method}: expected one of ${known.join(", ")}, ${got}`);
}

/** The pattern that was probably meant, when `pattern` is not one that this version knows and differs by two letters. */
export function misspeltPattern(pattern: string): string | undefined {
  const known = [...knownEventNames, ...Object.keys(groupTests)];
  if (known.includes(pattern)) return undefined;
  return known.find((name) => name.length > 3 && editDistance(name, pattern) <= 2);
}
