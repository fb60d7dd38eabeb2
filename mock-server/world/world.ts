import { getOrCreate } from "@workspace-tasks/kernel/cache.ts";
import type { Clock } from "@workspace-tasks/kernel/clock.ts";
import { callSafely } from "@workspace-tasks/kernel/notify-listener.ts";
import { allowManyListeners, warn } from "../host-process.ts";
import type { Transport } from "../outbound.ts";
import type { Settings } from "../settings/settings.ts";
import type * as records from "../state/records.ts";
import type { VirtualClock } from "../time/virtual-clock.ts";
import { createFaultStore, type FaultStore } from "./fault-store.ts";
import { createOverrideStore, type OverrideStore } from "./override-store.ts";
import { createRandomStreams, type Hashing, type RandomStreams } from "./random.ts";
import { createRateLimiter, type RateLimiter } from "./rate-limit.ts";
import {
  createRequestJournal,
  createRoundTrips,
  type RequestJournal,
  type RoundTrips,
} from "./request-journal.ts";
import { createTokenSigner, type TokenSigner } from "./tokens.ts";

/**
 * One instance of the service: its state, clock, random streams and activity.
 *
 * Rules are functions `(world, caller, input)` that read and change the state synchronously and report what
 * happened through `emit`. A world does no I/O: deliveries, connection checks and downloads leave through
 * its transport.
 */
export interface World {
  /** `null` for the mock's own world. */
  readonly name: string | null;
  /** Incremented with every replacement of the world; results of work from an older epoch are dropped. */
  readonly epoch: number;
  readonly state: State;
  readonly clock: Clock;
  readonly random: RandomStreams;
  readonly hashing: Hashing;
  /** The settings as they are now: read them when they are needed, and keep no copy. */
  readonly settings: Settings;
  readonly transport: Transport;
  readonly faults: FaultStore;
  readonly overrides: OverrideStore;
  readonly limiter: RateLimiter;
  readonly journal: RequestJournal;
  /** Headers and responses of the newest requests in the journal. */
  readonly roundTrips: RoundTrips;
  readonly tokens: TokenSigner;
  /** Aborts when the world ends: everything that waits on its clock must stop waiting. */
  readonly signal: AbortSignal;
  /** Schedules on the clock; `end` cancels everything scheduled through here. */
  readonly schedule: Clock["schedule"];
  /** Makes a virtual clock wait for this work before it moves on. */
  track(work: Promise<unknown>): void;
  /** Reports an activity to the subscribers (event stream, waiters). */
  emit(activity: Activity): void;
  subscribe(listener: (activity: NumberedActivity) => void): () => void;
  /** True with subscribers; lets callers skip building an activity that has no reader. */
  readonly hasSubscribers: boolean;
  /** Applies from now on; counted requests stay counted. */
  changeSettings(settings: Settings): void;
  newId(kind: string): string;
  /** True after `end`: responses that arrive later are dropped. */
  readonly ended: boolean;
  /** Cancels every timer and subscription of this world and aborts its requests in flight; `reason` is that of `signal`. */
  end(reason?: Error): void;
}

/** Something that happened in the world, named `noun.verb`, for the event stream and the inspector. */
interface Activity {
  readonly type: string;
  readonly [field: string]: unknown;
}

export interface NumberedActivity extends Activity {
  readonly sequence: number;
  readonly atMs: number;
}

export interface WorldOptions {
  /** Default: `null`, the mock's own world. */
  readonly name?: string | null | undefined;
  readonly epoch: number;
  readonly seed: number;
  readonly clock: Clock | VirtualClock;
  readonly settings: Settings;
  readonly transport: Transport;
  readonly hashing: Hashing;
}

export function createWorld(options: WorldOptions): World {
  const { name = null, clock, transport, hashing, epoch } = options;
  let { settings } = options;
  let limiter = createRateLimiter(settings.rateLimit);
  const random = createRandomStreams(options.seed, hashing);
  const cancels = new Set<() => void>();
  const listeners = new Set<(activity: NumberedActivity) => void>();
  let sequence = 0;
  let ended = false;
  const ending = new AbortController();
  // Every response that a fault delays listens to this signal; a thousand of them are no leak.
  allowManyListeners(ending.signal);

  const emit = (activity: Activity) => {
    if (listeners.size === 0) return;
    const numbered = { ...activity, sequence: ++sequence, atMs: clock.now() };
    for (const listener of listeners) callSafely(() => listener(numbered), warn);
  };

  return {
    name,
    epoch,
    state: createState(),
    clock,
    random,
    hashing,
    get settings() {
      return settings;
    },
    transport,
    faults: createFaultStore({ random, clock, hashing, emit }),
    overrides: createOverrideStore(),
    get limiter() {
      return limiter;
    },
    journal: createRequestJournal(() => settings.bounds.journalEntriesMax),
    roundTrips: createRoundTrips(),
    tokens: createTokenSigner(options.seed, hashing, name),
    signal: ending.signal,
    schedule(delayMs, run, options) {
      if (ended) return () => undefined;
      const cancel = clock.schedule(
        delayMs,
        () => {
          cancels.delete(cancel);
          run();
        },
        options,
      );
      cancels.add(cancel);
      return () => {
        cancels.delete(cancel);
        cancel();
      };
    },
    track(work) {
      // Deliveries and imports have time limits of their own.
      if (!ended && "track" in clock) void clock.track(work, { limitMs: Number.POSITIVE_INFINITY });
    },
    emit,
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    get hasSubscribers() {
      return listeners.size > 0;
    },
    changeSettings(changed) {
      settings = changed;
      const counted = limiter.snapshot();
      limiter = createRateLimiter(settings.rateLimit);
      limiter.restore(counted);
    },
    newId: (kind) => random.uuid(kind, clock.now()),
    get ended() {
      return ended;
    },
    end(reason) {
      ended = true;
      ending.abort(reason);
      for (const cancel of cancels) cancel();
      cancels.clear();
      listeners.clear();
      transport.abort();
    },
  };
}

/**
 * Lazily created per-world cache of data derived from the state; collected with the world, so a reset needs
 * no clean-up and a restore rebuilds it.
 */
export function worldCache<Value>(create: (world: World) => Value): (world: World) => Value {
  const values = new WeakMap<World, Value>();
  return (world) => getOrCreate(values, world, create);
}

/** The whole memory of the service: one map per noun, keyed by id, in order of creation. */
export const createState = () =>
  ({
    users: new Map<string, records.UserRecord>(),
    memberships: new Map<string, records.MembershipRecord>(),
    workspaces: new Map<string, records.WorkspaceRecord>(),
    apiKeys: new Map<string, records.ApiKeyRecord>(),
    partnerKeys: new Map<string, records.PartnerKeyRecord>(),
    endedTokens: new Map<string, records.EndedTokenRecord>(),
    endpoints: new Map<string, records.WebhookEndpointRecord>(),
    connections: new Map<string, records.ConnectionRecord>(),
    jobs: new Map<string, records.JobRecord>(),
    jobWorks: new Map<string, records.JobWorkRecord>(),
    artifacts: new Map<string, records.ArtifactRecord>(),
    clients: new Map<string, records.ClientRecord>(),
    tasks: new Map<string, records.TaskRecord>(),
    /** Tasks that progress by themselves, by task id. */
    progress: new Map<string, records.Progress>(),
    taskPlans: new Map<string, records.TaskPlanRecord>(),
    documents: new Map<string, records.DocumentRecord>(),
    catalogAdditions: new Map<string, records.CatalogAdditionRecord>(),
    uploads: new Map<string, records.UploadRecord>(),
    uploadContents: new Map<string, records.UploadBlocks>(),
    events: new Map<string, records.EventRecord>(),
    deliveries: new Map<string, records.DeliveryRecord>(),
  }) satisfies Record<keyof records.StateLists, Map<string, unknown>>;

export type State = Readonly<ReturnType<typeof createState>>;
