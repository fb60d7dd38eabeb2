// Receiver processes are killed at random instants while deliveries arrive, round after round on the same store. Twenty
// rounds share a store; then new processes receive what was not acknowledged, as from the service's retries, handle what
// is left, and stop. Afterwards every acknowledged delivery must have exactly one effect, and every task the state of its
// newest event.

import { setTimeout as pause } from "node:timers/promises";
import { createRandom, type Random } from "../simulation/random.ts";
import { DeliverySender, type DeliveryToSend } from "../support/delivery-sender.ts";
import { type BrokenReceiver, KillableReceiver } from "../support/killable-receiver.ts";
import type { PostgresDatabases } from "../support/postgres.ts";
import { type CrashStore, type CrashStoreName, openStores } from "./crash-store.ts";
import { createTraffic, shuffled } from "./crash-traffic.ts";

export interface CrashOptions {
  readonly store: CrashStoreName;
  readonly processes: number;
  readonly rounds: number;
  /** Of the first round; each round has the next one. */
  readonly seed: number;
  /** A known bug, which the counts must show. */
  readonly broken?: BrokenReceiver | undefined;
  readonly onProgress?: ((report: CrashReport) => void) | undefined;
  /** Default: a server of its own. */
  readonly postgres?: PostgresDatabases | undefined;
}

export interface CrashReport {
  readonly store: CrashStoreName;
  readonly processes: number;
  readonly seed: number;
  readonly rounds: number;
  /** Processes that were killed. */
  kills: number;
  /** Attempts to deliver. */
  sent: number;
  /** Deliveries with the response 200. */
  acknowledged: number;
  /** Acknowledged deliveries without an effect. */
  lost: number;
  /** Deliveries with more than one effect. */
  twice: number;
  /** Tasks without the state of their newest event. */
  wrong: number;
  /** The first ids that were counted as lost, twice or wrong. */
  readonly examples: string[];
  roundsDone: number;
}

export const isFlawless = ({ lost, twice, wrong }: CrashReport): boolean => lost + twice + wrong === 0;

const roundsPerStore = 20;
const tasksPerRound = 80;
const killWithinMs = 700;
const sendersPerProcess = 4;
const lateDuplicates = 50;
const drainTimeoutMs = 120_000;

export async function runCrashRounds(options: CrashOptions): Promise<CrashReport> {
  const { store, processes, rounds, seed, onProgress, postgres } = options;
  const counts = { kills: 0, sent: 0, acknowledged: 0, lost: 0, twice: 0, wrong: 0, roundsDone: 0 };
  const report: CrashReport = { store, processes, seed, rounds, ...counts, examples: [] };
  await using stores = await openStores(store, postgres);
  for (let done = 0; done < rounds; done += roundsPerStore) {
    await using crashStore = await stores.create();
    const count = Math.min(roundsPerStore, rounds - done);
    await runOnStore(crashStore, { ...options, seed: seed + done, rounds: count }, report);
    onProgress?.(report);
  }
  return report;
}

/** The service: what it still has to send, and what was acknowledged. */
interface Sending {
  readonly senders: readonly DeliverySender[];
  readonly acknowledged: Set<string>;
  readonly finalStates: Map<string, string>;
  readonly all: DeliveryToSend[];
  pending: DeliveryToSend[];
}

async function runOnStore(store: CrashStore, options: CrashOptions, report: CrashReport): Promise<void> {
  const { processes, broken } = options;
  let loaded = 0;
  const loadOne = () => {
    loaded += 1;
    const seed = options.seed * 1_000 + loaded;
    const { location } = store;
    const receiver = { store: location, connectionTimeoutMs: 20_000, failingShare: 0.05, broken, seed };
    return KillableReceiver.load(receiver);
  };
  const load = () => Promise.all(Array.from({ length: processes }, loadOne));
  const senders = Array.from({ length: options.processes }, () => new DeliverySender());
  const sending: Sending = {
    ...{ senders, acknowledged: new Set(), finalStates: new Map() },
    ...{ all: [], pending: [] },
  };
  let next = load();
  try {
    for (let round = 0; round < options.rounds; round++) {
      const receivers = await next;
      // The next processes load their modules meanwhile, which shortens the round.
      next = load();
      const seed = options.seed + round;
      await runRound(receivers, sending, { seed, needsResponse: broken !== undefined });
      report.kills += receivers.length;
      report.roundsDone += 1;
    }
    await drain(await next, store, sending);
    await count(store, sending, report);
  } finally {
    for (const sender of senders) sender[Symbol.dispose]();
    for (const receiver of await next) await receiver.kill();
  }
}

interface Round {
  readonly seed: number;
  /** No process is killed before it has responded, whose bug would not show then. */
  readonly needsResponse: boolean;
}

async function runRound(
  receivers: readonly KillableReceiver[],
  sending: Sending,
  { seed, needsResponse }: Round,
): Promise<void> {
  const random = createRandom(seed, "crash");
  const { deliveries, finalStates } = createTraffic(`seed-${seed}`, tasksPerRound, random);
  for (const [task, status] of finalStates) sending.finalStates.set(task, status);
  sending.all.push(...deliveries);
  const queue = shuffled([...sending.pending, ...deliveries, ...deliveries.slice(0, 20)], random);
  const known = [...sending.pending, ...deliveries];
  const take = () => queue.pop() ?? random.sample(known)!;
  const lives = receivers.map(async (receiver, index) => {
    const life = { killed: false, acknowledged: 0 };
    const traffic = sendWhileAlive(receiver, sending, index, { life, take, random });
    await pause(random.integer(1, killWithinMs));
    const before = life.acknowledged;
    while (needsResponse && life.acknowledged === before) await pause(1);
    life.killed = true;
    await receiver.kill();
    await traffic;
  });
  await Promise.all(lives);
  sending.pending = known.filter(({ id }) => !sending.acknowledged.has(id));
}

interface Life {
  readonly life: { readonly killed: boolean; acknowledged: number };
  take(): DeliveryToSend;
  readonly random: Random;
}

/** @throws when the process ended by itself */
async function sendWhileAlive(
  receiver: KillableReceiver,
  { senders, acknowledged }: Sending,
  index: number,
  { life, take, random }: Life,
): Promise<void> {
  const sender = senders[index]!;
  try {
    sender.aimAt(await receiver.begin());
  } catch (error) {
    if (life.killed) return;
    throw error;
  }
  const send = async () => {
    while (!life.killed) {
      const delivery = take();
      if ((await sender.attempt(delivery)) === 200) {
        acknowledged.add(delivery.id);
        life.acknowledged += 1;
      }
      await pause(random.integer(0, 8));
    }
  };
  await Promise.all(Array.from({ length: sendersPerProcess }, send));
}

/** Sends what was never acknowledged, a part of the rest again, and lets the receivers handle everything and stop. */
async function drain(receivers: readonly KillableReceiver[], store: CrashStore, sending: Sending) {
  const ports = await Promise.all(receivers.map((receiver) => receiver.begin()));
  for (const [index, sender] of sending.senders.entries()) sender.aimAt(ports[index]!);
  const deadlineMs = Date.now() + drainTimeoutMs;
  while (sending.pending.length > 0 && Date.now() < deadlineMs) {
    const [sender] = sending.senders;
    await sender!.sweep(sending.pending, 8);
    for (const { id } of sending.pending) if (sender!.acknowledged.has(id)) sending.acknowledged.add(id);
    sending.pending = sending.pending.filter(({ id }) => !sending.acknowledged.has(id));
  }
  await sending.senders[0]!.sweep(sending.all.slice(-lateDuplicates), 8);
  while ((await store.inbox.backlog("default", 1)) > 0 && Date.now() < deadlineMs) await pause(20);
  await Promise.all(receivers.map((receiver) => receiver.stop()));
}

async function count(
  store: CrashStore,
  { senders, acknowledged, finalStates }: Sending,
  report: CrashReport,
) {
  const note = (kind: string, id: string) => {
    if (report.examples.length < 10) report.examples.push(`${kind}: ${id}`);
  };
  const effects = new Map<string, number>();
  for (const row of await store.query("SELECT webhook_id FROM effects")) {
    // A receiver without uniqueness adds the number of the copy.
    const id = String(row["webhook_id"]).split("#")[0]!;
    effects.set(id, (effects.get(id) ?? 0) + 1);
  }
  for (const id of acknowledged) {
    if (effects.has(id)) continue;
    report.lost += 1;
    note("lost", id);
  }
  for (const [id, times] of effects) {
    if (times === 1) continue;
    report.twice += 1;
    note("twice", id);
  }
  const states = await store.query("SELECT task, status FROM task_states");
  const found = new Map(states.map((row) => [row["task"], row["status"]]));
  for (const [task, status] of finalStates) {
    if (found.get(task) === status) continue;
    report.wrong += 1;
    note(`wrong, ${found.get(task)} instead of ${status}`, task);
  }
  report.acknowledged += acknowledged.size;
  report.sent += senders.reduce((sum, sender) => sum + sender.attempts, 0);
}
