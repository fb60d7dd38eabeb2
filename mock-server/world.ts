import { setMaxListeners } from "node:events";
import { createFaultStore, type FaultStore } from "./faults/fault-store.ts";
import { createRateLimiter, type RateLimiter } from "./identity/rate-limit.ts";
import { createTokenSigner, type TokenSigner } from "./identity/tokens.ts";
import { createRandomStreams, type RandomStreams } from "./random.ts";
import { createRequestJournal, type RequestJournal } from "./request-journal.ts";
import type { Settings } from "./settings.ts";
import { createState, type State } from "./state/state.ts";
import type { Clock } from "./time/clock.ts";
import type { VirtualClock } from "./time/virtual-clock.ts";

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

/** What the core asks of the world outside; adapters over real sockets or in-process functions. */
export interface Outside {
  /** Sends one delivery attempt; never rejects. */
  deliver(request: DeliveryRequest): Promise<DeliveryAnswer>;
  /** Reads a URL (connection check, artifact download); never rejects. */
  read(url: string, headers: Readonly<Record<string, string>>): Promise<ReadAnswer>;
  /** Breaks off everything under way; those answers come back as errors. New requests are served. */
  abort(): void;
  /** Replaces the check of a provider connection; `true` means the platform accepted it. */
  checkConnection?(check: ConnectionCheck): boolean | Promise<boolean>;
}

export type ConnectionCheck = {
  readonly connectionId: string;
  readonly workspaceId: string;
  readonly providerKey: string;
  /** What the start step was given. */
  readonly inputs: unknown;
};

export type DeliveryRequest = {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  readonly timeoutMs: number;
};

export type DeliveryAnswer =
  | { readonly status: number; readonly headers: Record<string, string>; readonly body: string }
  | { readonly status: null; readonly error: string };

export type ReadAnswer =
  | { readonly status: number; readonly bytes: number; readonly mimeType: string }
  | { readonly status: null; readonly error: string };

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

  return {
    epoch,
    state: createState(),
    clock,
    random,
    settings,
    outside,
    faults: createFaultStore(),
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
    announce(happening) {
      if (listeners.size === 0) return;
      const numbered = { ...happening, sequence: ++sequence, atMs: clock.now() };
      for (const listener of listeners) listener(numbered);
    },
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
