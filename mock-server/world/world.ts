import { setMaxListeners } from "node:events";
import type { Outside } from "../outbound/port.ts";
import type { Settings } from "../settings.ts";
import { createState, type State } from "../state/state.ts";
import type { Clock } from "../time/clock.ts";
import type { VirtualClock } from "../time/virtual-clock.ts";
import { createFaultStore, type FaultStore } from "./fault-store.ts";
import { createRandomStreams, type RandomStreams } from "./random.ts";
import { createRateLimiter, type RateLimiter } from "./rate-limit.ts";
import { createRequestJournal, type RequestJournal } from "./request-journal.ts";
import { createTokenSigner, type TokenSigner } from "./tokens.ts";

/**
 * One universe of the service: what it remembers, its time, its chance, and what it announces.
 *
 * Rules are functions `(world, caller, input)` that read and change the state synchronously and say what
 * happened through `announce`. Nothing in here does I/O: deliveries, connection checks and downloads
 * leave through the `Outside` port that an adapter provides.
 */
export type World = {
  /** Replaced on reset; results of work begun in an older epoch are dropped. */
  readonly epoch: number;
  readonly state: State;
  readonly clock: Clock;
  readonly random: RandomStreams;
  readonly settings: Settings;
  readonly outside: Outside;
  readonly faults: FaultStore;
  readonly limiter: RateLimiter;
  readonly journal: RequestJournal;
  readonly tokens: TokenSigner;
  /** Aborts when the world ends: whatever waits for its clock must stop waiting. */
  readonly signal: AbortSignal;
  /** Schedules on the clock; a reset cancels everything scheduled through here. */
  schedule(delayMs: number, run: () => void): () => void;
  /** Runs work that leaves the core; a virtual clock waits for it before time moves on. */
  begin(work: Promise<unknown>): void;
  /** Tells listeners (event stream, journal, waiters) what has just happened. */
  announce(happening: Happening): void;
  listen(listener: (happening: NumberedHappening) => void): () => void;
  /** Whether anybody listens: what would only be announced need not be made otherwise. */
  readonly observed: boolean;
  newId(kind: string): string;
  /** True after `end`: whatever still comes back from outside belongs to the past and is dropped. */
  readonly ended: boolean;
  /** Cancels every timer and listener of this world and breaks off what is under way outside. */
  end(): void;
};

/** Something that happened in the world, named `noun.verb`, for the event stream and the inspector. */
export type Happening = { readonly type: string; readonly [field: string]: unknown };
export type NumberedHappening = Happening & { readonly sequence: number; readonly atMs: number };

export type WorldOptions = {
  readonly epoch: number;
  readonly seed: number;
  readonly clock: Clock | VirtualClock;
  readonly settings: Settings;
  readonly outside: Outside;
};

export function createWorld(options: WorldOptions): World {
  const { clock, settings, outside, epoch } = options;
  const random = createRandomStreams(options.seed);
  const cancels = new Set<() => void>();
  const listeners = new Set<(happening: NumberedHappening) => void>();
  let sequence = 0;
  let ended = false;
  const ending = new AbortController();
  // Every answer that a fault holds back waits for this signal; a thousand of them are no leak.
  setMaxListeners(0, ending.signal);

  const announce = (happening: Happening) => {
    if (listeners.size === 0) return;
    const numbered = { ...happening, sequence: ++sequence, atMs: clock.now() };
    for (const listener of listeners) listener(numbered);
  };

  return {
    epoch,
    state: createState(),
    clock,
    random,
    settings,
    outside,
    faults: createFaultStore({ random, clock, emit: announce }),
    limiter: createRateLimiter(settings.rateLimit),
    journal: createRequestJournal(settings.bounds.journalEntriesMax),
    tokens: createTokenSigner(options.seed),
    signal: ending.signal,
    schedule(delayMs, run) {
      if (ended) return () => undefined;
      const cancel = clock.schedule(delayMs, () => {
        cancels.delete(cancel);
        run();
      });
      cancels.add(cancel);
      return () => {
        cancels.delete(cancel);
        cancel();
      };
    },
    begin(work) {
      if (!ended && "track" in clock) void clock.track(work);
    },
    announce,
    listen(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    get observed() {
      return listeners.size > 0;
    },
    newId: (kind) => random.uuid(kind, clock.now()),
    get ended() {
      return ended;
    },
    end() {
      ended = true;
      ending.abort();
      for (const cancel of cancels) cancel();
      cancels.clear();
      listeners.clear();
      outside.abort();
    },
  };
}
