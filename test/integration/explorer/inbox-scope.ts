// Workers on one inbox in memory, whose rules (receiver-kit/inbox/core) SQLite shares, in every order. Each call of an
// inbox is one step, so the choices are the calls, with what workers do between them:
//
//   a delivery is stored                       once more with `duplicates`
//   a worker claims, renews, ends what it claimed: row by row, or all of it in one transaction with `batches`
//   time moves to the next lease that ends or row that is due
//   faults, each with a budget                 a worker crashes, or is paused for longer than its leases; a handler fails
//
// A worker that crashes forgets what it has claimed and starts again. Workers are alike, so states that differ in their
// names are one state.

import type { MemoryTransaction } from "@workspace-tasks/receiver-kit";
import { encodePosition, orderKey, statusRank } from "../../../receiver-kit/event/event-order.ts";
import type { Delivery, QueuedRow } from "../../../receiver-kit/inbox/core/storage.ts";
import * as inbox from "../../../receiver-kit/inbox/inbox.ts";
import type * as MemoryModule from "../../../receiver-kit/inbox/memory/memory-inbox.ts";
import type { MemoryKey } from "../../../receiver-kit/inbox/memory/memory-storage.ts";
import { importPatched, type Patch } from "../simulation/bundles.ts";
import type { Execution, Scope } from "./explore.ts";

interface Budgets {
  readonly crashes: number;
  readonly pauses: number;
  readonly duplicates: number;
  readonly handlerFailures: number;
}

export interface ExploredEvent {
  readonly id: string;
  readonly task: string;
  /** Seconds; the order of the events of a task. */
  readonly at: number;
}

export interface ScopeDefinition {
  readonly name: string;
  readonly events: readonly ExploredEvent[];
  readonly workers: number;
  readonly budgets: Partial<Budgets>;
  readonly attemptsMax?: number;
  readonly keyOrder?: inbox.InboxKeyOrder;
  /** Workers end all that they have claimed in one transaction. */
  readonly batches?: boolean;
  /** `npm test` leaves it to `npm run prove`. */
  readonly isLarge?: boolean;
}

const first: ExploredEvent = { id: "e1", task: "task", at: 1 };
const second: ExploredEvent = { id: "e2", task: "task", at: 2 };
const third: ExploredEvent = { id: "e3", task: "task", at: 3 };
const other: ExploredEvent = { id: "e4", task: "other", at: 1 };

export const scopes: readonly ScopeDefinition[] = [
  { name: "duplicates", events: [first, second], workers: 2, budgets: { duplicates: 2, crashes: 1 } },
  { name: "crashes", events: [first, second], workers: 2, budgets: { crashes: 2 } },
  { name: "pauses", events: [first, second], workers: 2, budgets: { pauses: 2 } },
  { name: "poison", events: [first, second], workers: 1, budgets: { crashes: 4 }, attemptsMax: 2 },
  { name: "failures", events: [first, second], workers: 1, budgets: { handlerFailures: 1, crashes: 1 } },
  {
    name: "strict",
    events: [first, second],
    workers: 2,
    budgets: { handlerFailures: 1, crashes: 1 },
    keyOrder: "strict",
  },
  { name: "two-tasks", events: [first, other], workers: 2, budgets: { crashes: 1 } },
  {
    name: "batches",
    events: [first, second, other],
    workers: 1,
    budgets: { crashes: 1 },
    batches: true,
  },
  {
    name: "paused-batches",
    events: [first, other],
    workers: 2,
    budgets: { pauses: 1 },
    batches: true,
  },
  {
    name: "batches-of-two",
    events: [first, second, other],
    workers: 2,
    budgets: { pauses: 1, crashes: 1 },
    batches: true,
    isLarge: true,
  },
  {
    name: "three-workers",
    events: [first, second, third, other],
    workers: 3,
    budgets: { crashes: 2, pauses: 1, handlerFailures: 1 },
    isLarge: true,
  },
];

export function scopeNamed(name: string): ScopeDefinition {
  const found = scopes.find((scope) => scope.name === name);
  if (!found) throw new Error(`expected one of ${scopes.map((scope) => scope.name).join(", ")}, got ${name}`);
  return found;
}

export interface ExploredInbox extends Disposable {
  create(definition: ScopeDefinition): Scope;
}

/** The inbox to explore, with the patches of a planted bug or none. */
export async function loadInbox(patches: readonly Patch[] = []): Promise<ExploredInbox> {
  const named = { name: "explored", patches, exposesPrivate: true };
  const loaded = await importPatched<typeof MemoryModule>(
    "receiver-kit",
    named,
    "inbox/memory/memory-inbox.ts",
  );
  return {
    create: (definition) => ({
      name: definition.name,
      start: () => startExecution(definition, loaded.module.memoryInbox),
    }),
    [Symbol.dispose]: loaded[Symbol.dispose],
  };
}

const leaseMs = 30_000;
const startMs = Date.UTC(2026, 5, 1);
const retryMs = 1_000;
const source = "default";

interface Worker {
  readonly name: string;
  /** The rows that it has claimed and not ended, in their order. */
  claims: readonly inbox.InboxClaim[];
  /** When each of its leases ends. */
  readonly leaseEndsMs: Map<inbox.InboxLease, number>;
}

type Step = { readonly isFault: boolean; readonly run: () => Promise<void> | void };

async function startExecution(
  definition: ScopeDefinition,
  createInbox: typeof MemoryModule.memoryInbox,
): Promise<Execution> {
  const { events, attemptsMax = 3, keyOrder = "latest", batches = false } = definition;
  const left: Budgets = { crashes: 0, pauses: 0, duplicates: 0, handlerFailures: 0, ...definition.budgets };
  let nowMs = 0;
  const now = () => startMs + nowMs;
  const clock = { now, monotonic: () => nowMs, schedule: () => () => {} };
  const store = inbox.storeOf(createInbox({ clock }));
  const stored = visibleStorage(store);
  const ledger = createLedger(attemptsMax);
  const workers: readonly Worker[] = Array.from({ length: definition.workers }, (_, index) => {
    return { name: `w${index + 1}`, claims: [], leaseEndsMs: new Map() };
  });
  const accepted = new Set<string>();
  const story: string[] = [];

  const insert = async (event: ExploredEvent) => {
    const { outcome } = await store.insert(rowOf(event));
    ledger.check(outcome === (accepted.has(event.id) ? "duplicate" : "new"), `I2: ${event.id} is ${outcome}`);
    accepted.add(event.id);
  };
  const claim = async (worker: Worker) => {
    const { claims } = await store.claim({
      source,
      worker: worker.name,
      rowsMax: 3,
      rowsPerKeyMax: 2,
      bytesMax: 1_000_000,
      leaseMs,
      retry: { firstDelayMs: retryMs, delayMsMax: retryMs },
      attemptsMax,
      keyOrder,
    });
    worker.claims = claims;
    for (const { lease } of claims) worker.leaseEndsMs.set(lease, nowMs + leaseMs);
    for (const each of claims) {
      const holder = workers.find(
        ({ name, claims: held, leaseEndsMs }) =>
          name !== worker.name &&
          held.some(({ lease, orderKey: key }) => {
            return key === each.orderKey && (leaseEndsMs.get(lease) ?? 0) > nowMs;
          }),
      );
      ledger.check(!holder, `K1: ${worker.name} has ${each.id}, ${holder?.name} has its task`);
    }
    for (const each of firstOfLeases(worker)) ledger.start(each);
  };
  const forget = (worker: Worker, ended: readonly inbox.InboxClaim[]) => {
    const before = firstOfLeases(worker);
    worker.claims = worker.claims.filter((each) => !ended.includes(each));
    for (const lease of worker.leaseEndsMs.keys())
      if (!worker.claims.some((each) => each.lease === lease)) worker.leaseEndsMs.delete(lease);
    for (const each of firstOfLeases(worker)) if (!before.includes(each)) ledger.start(each);
  };
  /** The worker has nothing more to do with these rows, and with those behind them. */
  const release = async (worker: Worker, given: readonly inbox.InboxClaim[]) => {
    const leases = new Set(given.map(({ lease }) => lease));
    const started = firstOfLeases(worker);
    const released = worker.claims.filter(({ lease }) => leases.has(lease));
    for (const each of released)
      if ((await store.fail(each, { kind: "release" })) && started.includes(each)) ledger.release(each);
    forget(worker, released);
  };
  const end = async (worker: Worker, claims: readonly inbox.InboxClaim[]) => {
    const items = claims.map((each) => ({ claim: each, settlement: settlementOf(each) }));
    const transaction = store.begin(items, { timeoutMs: leaseMs });
    const handle = transaction.handle as MemoryTransaction;
    for (const { claim: each, settlement } of items)
      handle.apply(() => ledger.handled(each, settlement.state === "done"));
    const outcome = await transaction.commit();
    if (outcome === "settled") forget(worker, claims);
    else await release(worker, claims);
  };
  const fail = async (worker: Worker, failed: inbox.InboxClaim) => {
    const behind = worker.claims.filter((each) => each !== failed && each.lease === failed.lease);
    const { attempts } = failed;
    await store.fail(
      failed,
      attempts < attemptsMax
        ? { kind: "retry", delayMs: retryMs, error: "failed", counts: true }
        : { kind: "dead", error: "failed" },
    );
    for (const each of behind) await store.fail(each, { kind: "release" });
    forget(worker, [failed, ...behind]);
  };
  const renew = async (worker: Worker) => {
    const held = await store.renew([...worker.leaseEndsMs.keys()], leaseMs);
    for (const lease of held) worker.leaseEndsMs.set(lease, nowMs + leaseMs);
  };

  const steps = (): ReadonlyMap<string, Step> => {
    const found = new Map<string, Step>();
    if (isSettled()) return found;
    const add = (label: string, run: Step["run"]) => found.set(label, { isFault: false, run });
    const addFault = (budget: keyof Budgets, label: string, run: Step["run"]) => {
      if (left[budget] === 0) return;
      const spend = () => {
        (left as Record<keyof Budgets, number>)[budget] -= 1;
        return run();
      };
      found.set(label, { isFault: true, run: spend });
    };
    for (const event of events) {
      if (!accepted.has(event.id)) add(`${event.id} is stored`, () => insert(event));
      else addFault("duplicates", `${event.id} is stored again`, () => insert(event));
    }
    for (const worker of workers) {
      const { name, claims, leaseEndsMs } = worker;
      if (claims.length === 0) {
        // A claim that finds nothing changes nothing.
        if (wakeTimesOf(stored).some((atMs) => atMs <= now())) add(`${name} claims`, () => claim(worker));
        continue;
      }
      addFault("crashes", `${name} crashes`, () => {
        worker.claims = [];
        worker.leaseEndsMs.clear();
      });
      if ([...leaseEndsMs.values()].some((endMs) => endMs < nowMs + leaseMs))
        add(`${name} renews its leases`, () => renew(worker));
      if (batches) add(`${name} ends ${claims.map(({ id }) => id).join()}`, () => end(worker, claims));
      else
        for (const each of firstOfLeases(worker)) {
          add(`${name} ends ${each.id}`, () => end(worker, [each]));
          addFault("handlerFailures", `${name} fails with ${each.id}`, () => fail(worker, each));
        }
    }
    const nextMs = Math.min(
      ...wakeTimesOf(stored)
        .map((atMs) => atMs - startMs)
        .filter((atMs) => atMs > nowMs),
    );
    const pass = () => {
      nowMs = nextMs;
    };
    const isPause = workers.some(({ leaseEndsMs }) =>
      [...leaseEndsMs.values()].some((endMs) => endMs > nowMs && endMs <= nextMs),
    );
    if (nextMs < Number.POSITIVE_INFINITY)
      if (isPause) addFault("pauses", "time passes, a lease is not renewed", pass);
      else add("time passes", pass);
    return found;
  };
  const isSettled = () =>
    accepted.size === events.length &&
    [...stored.private_queues.values()].every((queue) => queue.length === 0) &&
    workers.every(({ claims }) => claims.length === 0);

  return {
    story,
    choices: () => (ledger.violation ? [] : [...steps()].map(([label, { isFault }]) => ({ label, isFault }))),
    async take(label) {
      story.push(`${nowMs / 1_000} s: ${label}`);
      await steps().get(label)?.run();
      const { size } = stored.deliveries;
      ledger.check(size === accepted.size, `I1: ${accepted.size} deliveries have ${size} rows`);
    },
    fingerprint() {
      const claimText = ({ id, attempts, head, lease }: inbox.InboxClaim) =>
        `${id} ${attempts} ${head} ${(stored.keys.get(lease.keyId)?.generation ?? 0) - lease.generation}`;
      const texts = workers.map(({ claims, leaseEndsMs }) => [
        claims.map(claimText),
        [...leaseEndsMs.values()].map((endMs) => Math.max(0, endMs - nowMs)),
      ]);
      const worker = texts.map((text) => JSON.stringify(text)).sort();
      return JSON.stringify([worker, [...accepted].sort(), left, storageText(stored, now()), ledger.text()]);
    },
    violation() {
      if (ledger.violation !== undefined) return ledger.violation;
      if (isSettled()) return ledger.finalViolation(events, stored);
      return steps().size === 0 ? "I5: nothing can happen any more" : undefined;
    },
  };
}

/** The row of each lease of a worker that is being handled. */
const firstOfLeases = ({ claims }: Worker): readonly inbox.InboxClaim[] =>
  claims.filter((each, index) => claims.findIndex(({ lease }) => lease === each.lease) === index);

function rowOf({ id, task, at }: ExploredEvent): inbox.NewInboxRow {
  return {
    source,
    id,
    channel: "webhook",
    event: "task.running",
    orderKey: orderKey([task]),
    position: encodePosition({ occurredAt: BigInt(at), rank: statusRank("RUNNING"), id }),
    status: "RUNNING",
    workspaceId: null,
    timestamp: 0,
    body: new Uint8Array(1),
    quarantine: null,
    secretIndex: 0,
    traceparent: null,
  };
}

/** As attempts decide: state handlers do not see what is older than the head of the claim. */
function settlementOf({ orderKey: key, position, status, head }: inbox.InboxClaim): inbox.InboxSettlement {
  if (key === null || position === null) throw new Error("expected a row of a task");
  if (head !== null && position <= head) return { state: "stale", advance: null };
  return { state: "done", advance: { position, status, allowSame: false } };
}

interface VisibleStorage {
  readonly deliveries: ReadonlyMap<number, Delivery>;
  readonly keys: ReadonlyMap<number, MemoryKey>;
  readonly private_queues: ReadonlyMap<number, readonly QueuedRow[]>;
}

const visibleStorage = (store: object) =>
  (store as unknown as { readonly private_storage: VisibleStorage }).private_storage;

/** When keys have something to do. */
const wakeTimesOf = ({ keys }: VisibleStorage): readonly number[] =>
  [...keys.values()].flatMap(({ wakeAtMs }) => wakeAtMs ?? []);

/** All that decides about the future, with times relative to now. */
function storageText({ deliveries, keys, private_queues }: VisibleStorage, nowMs: number): string {
  const relative = (atMs: number | null) => (atMs !== null && atMs > 0 ? Math.max(-1, atMs - nowMs) : "-");
  const rows = [...deliveries.values()].map(({ id, outcome, attempts }) => `${id} ${outcome} ${attempts}`);
  const idOf = (seq: number) => deliveries.get(seq)?.id;
  const queued = [...private_queues.values()].flat().map(({ seq, attempts, dueAtMs }) => {
    return `${idOf(seq)} ${attempts} ${relative(dueAtMs)}`;
  });
  const keyTexts = [...keys.values()].map(
    ({ name, worker, wakeAtMs, claimed, suspects, position, waiting }) => {
      const lease = `${worker === null} ${relative(wakeAtMs)} ${claimed.map(idOf)} ${suspects}`;
      return `${name} ${lease} ${position} ${waiting}`;
    },
  );
  return JSON.stringify([rows.sort(), queued.sort(), keyTexts.sort()]);
}

/** What handlers did, and what may not happen. */
function createLedger(attemptsMax: number) {
  let violation: string | undefined;
  const starts = new Map<string, number>();
  const effects = new Map<string, number>();
  /** The newest event that was applied to each task. */
  const states = new Map<string, string>();
  const check = (holds: boolean, message: string) => {
    if (!holds) violation ??= message;
  };
  const add = (counts: Map<string, number>, id: string, change: number) =>
    counts.set(id, (counts.get(id) ?? 0) + change);
  return {
    get violation() {
      return violation;
    },
    check,
    start({ id, attempts }: inbox.InboxClaim) {
      add(starts, id, 1);
      check(
        attempts === starts.get(id) && attempts <= attemptsMax,
        `A1: attempt ${starts.get(id)} of ${id} is counted as ${attempts}, of at most ${attemptsMax}`,
      );
    },
    release: ({ id }: inbox.InboxClaim) => add(starts, id, -1),
    /** What a transaction does once it is committed. */
    handled({ id, orderKey: key, position }: inbox.InboxClaim, isNewest: boolean) {
      add(effects, id, 1);
      check(effects.get(id) === 1, `I4: the effect of ${id} took place twice`);
      if (!isNewest) return;
      const before = states.get(String(key)) ?? "";
      check(before < String(position), `I3: ${id} was applied after something newer`);
      states.set(String(key), String(position));
    },
    finalViolation(events: readonly ExploredEvent[], { deliveries }: VisibleStorage) {
      const dead = new Set<string>();
      for (const { id, outcome, attempts } of deliveries.values()) {
        if (outcome === "dead") dead.add(id);
        if (outcome === "dead" && attempts !== attemptsMax)
          return `A1: ${id} is dead after ${attempts} attempts`;
        if (outcome !== "dead" && effects.get(id) !== 1)
          return `I4: ${id} has ended and took effect ${effects.get(id) ?? 0} times`;
      }
      for (const event of events) {
        const { orderKey: key, position } = rowOf(event);
        if (!dead.has(event.id) && (states.get(String(key)) ?? "") < String(position))
          return `E1: ${event.task} is older than ${event.id}`;
      }
      return undefined;
    },
    text: () => JSON.stringify([[...starts].sort(), [...effects].sort(), [...states].sort()]),
  };
}
