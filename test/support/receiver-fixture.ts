import { systemClock } from "@workspace-tasks/kernel/clock.ts";
import { createVirtualClock, type VirtualClock } from "@workspace-tasks/mock-server";
import {
  type AcceptResult,
  type Clock,
  createReceiver,
  type MemoryTransaction,
  type Receiver,
  type ReceiverOptions,
} from "@workspace-tasks/receiver-kit";
import { type InboxRowState, type InboxStore, storeOf } from "../../receiver-kit/inbox/inbox.ts";
import { memoryInbox } from "./inbox-stores.ts";
import { sampleEvent } from "./sample-event.ts";
import { secretA } from "./signed-delivery.ts";

export type LogLine = {
  readonly level: "info" | "warn" | "error";
  readonly message: string;
  readonly fields: object;
};

/** A receiver with a memory inbox, a virtual clock and its log. */
export interface ReceiverFixture extends AsyncDisposable {
  readonly clock: VirtualClock;
  readonly inbox: InboxStore<MemoryTransaction>;
  readonly receiver: Receiver<MemoryTransaction>;
  readonly log: readonly LogLine[];
  /** Passes a verified delivery to the receiver. The default id is that of the event. */
  deliver(event: Readonly<Record<string, unknown>>, id?: string): Promise<AcceptResult["outcome"]>;
  deliverBytes(id: string, body: Uint8Array): Promise<AcceptResult["outcome"]>;
  /** Starts the receiver and passes it a sample event as `msg_1`; resolves when it waits for time to pass. */
  startWithEvent(): Promise<void>;
  /** The row of a webhook-id. */
  rowOf(id: string): ReturnType<InboxStore["get"]>;
  /** State of a row by its webhook-id. */
  stateOf(id: string): Promise<string | undefined>;
}

export type ReceiverFixtureOptions = Partial<ReceiverOptions<MemoryTransaction>>;

/** A virtual clock that starts after the sample events occurred. */
export function createFixtureClock(): VirtualClock {
  return createVirtualClock(Date.UTC(2026, 5, 1));
}

export function createReceiverFixture(options: ReceiverFixtureOptions = {}): ReceiverFixture {
  const clock = (options.clock as VirtualClock | undefined) ?? createFixtureClock();
  const inbox = options.inbox ? storeOf(options.inbox) : memoryInbox({ clock });
  const log: LogLine[] = [];
  const note = (level: LogLine["level"]) => (fields: object, message: string) => {
    log.push({ level, message, fields });
  };
  const receiver = createReceiver<MemoryTransaction>({
    secrets: [secretA],
    random: () => 0.5,
    logger: { info: note("info"), warn: note("warn"), error: note("error") },
    ...options,
    clock,
    inbox,
  });
  const deliverBytes = async (id: string, body: Uint8Array) => {
    const timestamp = Math.floor(clock.now() / 1000);
    return (await receiver.accept({ id, timestamp, body, secretIndex: 0 })).outcome;
  };
  const deliver = (event: Readonly<Record<string, unknown>>, id = `msg_${String(event["id"])}`) =>
    deliverBytes(id, Buffer.from(JSON.stringify(event)));
  const rowOf = (id: string) => inbox.get({ source: options.source ?? "default", id });
  return {
    clock,
    inbox,
    receiver,
    log,
    deliver,
    deliverBytes,
    async startWithEvent() {
      await receiver.start();
      await deliver(sampleEvent(), "msg_1");
      await clock.settle();
    },
    rowOf,
    stateOf: async (id) => (await rowOf(id))?.state,
    async [Symbol.asyncDispose]() {
      const closed = receiver.close({ graceMs: 1 });
      await clock.advance(10);
      await closed;
    },
  };
}

/** How many rows are in each state. */
export async function countStates(
  inbox: Pick<InboxStore, "list">,
): Promise<Partial<Record<InboxRowState, number>>> {
  const counts: Partial<Record<InboxRowState, number>> = {};
  for (const { state } of await inbox.list({ limit: 1_000_000 })) counts[state] = (counts[state] ?? 0) + 1;
  return counts;
}

/** A clock that moves only when a test sets it. Its timers are real. */
export class FrozenClock implements Clock {
  ms: number;
  /** Monotonic time that the wall clock does not show. */
  hiddenMs = 0;

  constructor(ms: number) {
    this.ms = ms;
  }

  now = () => this.ms;
  monotonic = () => this.ms + this.hiddenMs;
  schedule = systemClock.schedule;
}
