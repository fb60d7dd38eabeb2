import { createHash } from "node:crypto";
import { createVirtualClock, type VirtualClock } from "@workspace-tasks/mock-server";
import type * as ReceiverKit from "@workspace-tasks/receiver-kit";
import type * as Sdk from "@workspace-tasks/sdk";
import type { InboxStore } from "../../../receiver-kit/inbox/inbox.ts";
import type { Fault, Meetable, Meetings } from "./faults.ts";
import type { Invariant, Violation } from "./invariants.ts";
import { createRandom, type Random } from "./random.ts";
import type { SimulationSettings } from "./settings.ts";
import { createStoreClock, type StoreClock } from "./store-clock.ts";

export type Store = InboxStore<ReceiverKit.MemoryTransaction>;

/** The code under test. A mutant replaces a part of it. */
export interface Products {
  readonly sdk: Pick<typeof Sdk, "createClient">;
  readonly receiverKit: Pick<typeof ReceiverKit, "createReceiver" | "memoryInbox" | "NonRetryableError">;
}

/** What all parts of one run share. */
export interface SimulationWorld {
  readonly settings: SimulationSettings;
  readonly products: Products;
  readonly clock: VirtualClock;
  readonly storeClock: StoreClock;
  readonly random: Random;
  readonly trace: Trace;
  readonly met: Meetings;
  /** Counts a crash point, or a fault that is not drawn by `faultOccurs`. */
  meet(what: Meetable): void;
  readonly storeOutage: StoreOutage;
  /** The first violation; the run ends with the step in which it was found. */
  readonly violation: Violation | undefined;
  /** Records a violation when `holds` is false. The message is built only then. */
  check(invariant: Invariant, holds: boolean, message: () => string): void;
  /** Draws whether a fault occurs now; always false after `disableFaults`. */
  faultOccurs(fault: Fault, random: Random): boolean;
  /** Turns all faults off, so that the run can quiesce. */
  disableFaults(): void;
}

/** A failover of the store, as its clients see it. */
export interface StoreOutage {
  /** Increases with each failover; a call that began before it has an unknown outcome. */
  failovers: number;
  /** Until then no call connects, in monotonic time. */
  untilMs: number;
}

export const source = "default";
export const mainTenant = "main";

/** The source under which the deliveries of the service are stored. */
export function storedSource({ tenants }: SimulationSettings): string {
  return tenants ? `${source}/${mainTenant}` : source;
}

export function createWorld(settings: SimulationSettings, products: Products): SimulationWorld {
  const clock = createVirtualClock();
  const trace = createTrace(clock.now);
  let violation: Violation | undefined;
  let faultsOff = false;
  const met: Meetings = {};
  const meet = (what: Meetable) => {
    met[what] = (met[what] ?? 0) + 1;
  };
  return {
    met,
    meet,
    storeOutage: { failovers: 0, untilMs: 0 },
    settings,
    products,
    clock,
    trace,
    storeClock: createStoreClock(clock),
    random: createRandom(settings.seed),
    get violation() {
      return violation;
    },
    check(invariant, holds, message) {
      if (holds || violation) return;
      violation = { invariant, message: message() };
      trace.log(`VIOLATION of ${invariant}: ${violation.message}`);
      trace.endTail();
    },
    faultOccurs(fault, random) {
      if (!random.happens(settings.probabilities[fault]) || faultsOff) return false;
      meet(fault);
      return true;
    },
    disableFaults() {
      faultsOff = true;
    },
  };
}

/** The events of a run, in order. Two runs are the same run when their hashes are equal. */
export interface Trace {
  log(text: string): void;
  /** A short name for an id, the same in every run of a seed. */
  nameOf(kind: string, id: string): string;
  readonly hash: string;
  /** The last 30 lines, until `endTail`. */
  readonly tail: readonly string[];
  /** What follows is no longer kept. */
  endTail(): void;
}

const tailMax = 30;

export function createTrace(nowMs: () => number): Trace {
  const hash = createHash("sha256");
  const tail: string[] = [];
  const names = new Map<string, string>();
  const counts = new Map<string, number>();
  let startMs: number | undefined;
  let hasEnded = false;
  return {
    log(text) {
      startMs ??= nowMs();
      const line = `${((nowMs() - startMs) / 1_000).toFixed(3)} s: ${text}`;
      hash.update(`${line}\n`);
      if (hasEnded) return;
      tail.push(line);
      if (tail.length > tailMax) tail.shift();
    },
    nameOf(kind, id) {
      const existing = names.get(id);
      if (existing !== undefined) return existing;
      const count = (counts.get(kind) ?? 0) + 1;
      counts.set(kind, count);
      const name = `${kind}-${count}`;
      names.set(id, name);
      return name;
    },
    get hash() {
      return hash.copy().digest("hex");
    },
    tail,
    endTail() {
      hasEnded = true;
    },
  };
}
