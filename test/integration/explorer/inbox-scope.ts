// Workers and intakes of the receiver kit on one inbox, in every order. The choices are:
//
//   a delivery is sent to a process            again while it is not acknowledged; once more with `duplicates`
//   a parked call happens                      insert, claim, renew, the handler, commit, fail; its result arrives at once
//   nothing is parked: time moves              to the next timer
//   faults, each with a budget                 crash: before or after the effect of a call; pause: until time has passed;
//                                              the handler fails; a call is rejected before or after its effect
//
// REDUCED. That the result of a call arrives later than the next effect of another process is not explored: the arrival
// changes only its own process, so both orders end in the same state. Time is different, so a result that arrives after
// time has passed is explored: its process is paused. Calls that touch nothing that is explored (open, marks, backlog,
// list, head) happen at once. A process that crashes is replaced at once; that the new one starts late is explored, since
// its first claim is parked. Processes are alike, so states that differ in their names are one state.

import type { TaskEvent } from "@workspace-tasks/events";
import type { BatchItem, MemoryTransaction, TransactionContext } from "@workspace-tasks/receiver-kit";
import type { InboxClaim, InboxKeyOrder, InboxLease } from "../../../receiver-kit/inbox/inbox.ts";
import type { Choice, Execution, Scope } from "./explore.ts";
import type * as Parts from "./explored-parts.ts";
import * as explored from "./explored-process.ts";
import { createInboxLedger, type InboxLedger } from "./inbox-ledger.ts";
import { memoryStore, type StoreUnderTest } from "./memory-store.ts";
import { visibleState } from "./visible-state.ts";

export interface InboxBudgets {
  readonly crashes: number;
  readonly pauses: number;
  /** Deliveries that are sent again although they were acknowledged. */
  readonly duplicates: number;
  readonly handlerFailures: number;
  /** Calls that are rejected, before or after their effect. */
  readonly lostCalls: number;
}

export interface ExploredEvent {
  readonly id: string;
  readonly taskId: string;
  readonly status: "RUNNING" | "COMPLETED" | "FAILED";
  /** Seconds; the order of the events of a task. */
  readonly at: number;
}

export interface InboxScopeOptions {
  readonly name: string;
  readonly parts: typeof Parts;
  readonly events: readonly ExploredEvent[];
  readonly workers: number;
  readonly budgets?: Partial<InboxBudgets> | undefined;
  readonly concurrency?: number | undefined;
  readonly attemptsMax?: number | undefined;
  readonly keyOrder?: InboxKeyOrder | undefined;
  /** Events are handled in batches: all of them, or the newest of each task. */
  readonly batches?: "events" | "states" | undefined;
  /** The handler always fails on this event, and on batches with it. */
  readonly badEvent?: string | undefined;
}

const leaseMs = 30_000;
/** Until then every call of an inbox in memory has happened. */
const turnsMax = 20;
const noBudgets: InboxBudgets = { crashes: 0, pauses: 0, duplicates: 0, handlerFailures: 0, lostCalls: 0 };

/** Of an event: the processes that it was sent to and that have not responded. */
const createSending = () => ({ by: [] as explored.ExploredProcess[], isAcknowledged: false });

interface Member {
  readonly process: explored.ExploredProcess;
  send(event: ExploredEvent): void;
}

export function inboxScope(options: InboxScopeOptions): Scope {
  return { name: options.name, start: () => startInboxExecution(options) };
}

async function startInboxExecution(options: InboxScopeOptions): Promise<Execution> {
  const { parts, events, workers } = options;
  const time = explored.createTime();
  const store = memoryStore(parts, time);
  const left = { ...noBudgets, ...options.budgets };
  // Where no copy can arrive meanwhile and no insert fails, a delivery is sent and stored in one step: until it is stored
  // it has changed nothing that another process sees.
  const isFused = left.duplicates === 0 && left.lostCalls === 0 && left.pauses === 0;
  const ledger = createInboxLedger({
    attemptsMax: options.attemptsMax ?? 3,
    keyOrder: options.keyOrder ?? "latest",
    batches: options.batches,
    badEvent: options.badEvent,
  });
  const sent = new Map(events.map(({ id }) => [id, createSending()]));
  let members: Member[] = [];
  let started = 0;
  const story: string[] = [];

  const drain = async () => {
    let turns = 0;
    do await new Promise((resolve) => void setImmediate(resolve));
    while (++turns < turnsMax && members.some(({ process }) => process.happening > 0));
  };
  const startMember = () => {
    started += 1;
    const member = createMember(options, { name: `p${started}`, time, store, ledger });
    const { send } = member;
    members.push({
      process: member.process,
      send(event) {
        const sending = sent.get(event.id)!;
        sending.by.push(member.process);
        const ended = () => void sending.by.splice(sending.by.indexOf(member.process), 1);
        send(event).then(() => {
          sending.isAcknowledged = true;
          ended();
        }, ended);
      },
    });
  };
  const running = () =>
    members.filter(({ process }) => process.state === "running").map(({ process }) => process);

  /** Name and effect of everything that may happen now. */
  const options_ = () => {
    const found = new Map<string, { readonly isFault: boolean; readonly run: () => unknown }>();
    const add = (label: string, isFault: boolean, run: () => unknown) => found.set(label, { isFault, run });
    const addFault = (budget: keyof InboxBudgets, label: string, run: () => unknown) => {
      if (left[budget] === 0) return;
      add(label, true, () => {
        left[budget] -= 1;
        return run();
      });
    };
    if (isSettled()) return found;
    for (const { process, send } of members) {
      const { name } = process;
      for (const event of events) {
        const { by, isAcknowledged } = sent.get(event.id)!;
        const isRepeated = by.length > 0 || isAcknowledged;
        const mayRepeat = isRepeated && left.duplicates > 0;
        if (process.state !== "running" || (isRepeated && !mayRepeat)) continue;
        const deliver = async () => {
          if (mayRepeat) left.duplicates -= 1;
          send(event);
          if (!isFused) return;
          await drain();
          void process.parked.find((call) => call.name === `insert ${event.id}`)?.run();
        };
        add(`${event.id} is sent to ${name}`, mayRepeat, deliver);
        if (!isFused) continue;
        addFault("crashes", `${name}: ${event.id} is stored, then ${name} crashes`, async () => {
          send(event);
          await drain();
          process.pause();
          void process.parked.find((call) => call.name === `insert ${event.id}`)?.run();
          return "crash";
        });
      }
      for (const call of new Map(process.parked.map((each) => [each.name, each])).values()) {
        add(`${name}: ${call.name}`, false, () => void call.run());
        addFault("crashes", `${name}: ${call.name}, then ${name} crashes`, () => {
          process.pause();
          void call.run();
          return "crash";
        });
        const fail = (message: string) => call.fail(new Error(message));
        if (call.name.startsWith("handler"))
          addFault("handlerFailures", `${name}: ${call.name} fails`, () => fail("failed"));
        else addFault("lostCalls", `${name}: ${call.name} is lost`, () => fail("connection lost"));
      }
      if (process.state === "running") addFault("crashes", `${name} crashes`, () => "crash");
      if (process.state === "running" && !process.isIdle) {
        addFault("pauses", `${name} is paused`, () => {
          ledger.paused(process);
          process.pause();
        });
      }
      if (process.mayResume) {
        add(`${name} resumes`, false, () => process.resume("timers"));
        add(`${name} resumes, results first`, false, () => process.resume("results"));
      }
    }
    // Without waiting rows and paused processes, time changes nothing but the phase of the polls.
    const isWaiting =
      !ledger.isSettled() || members.some(({ process }) => process.state === "paused" || !process.isIdle);
    if (isWaiting && running().every(({ parked }) => parked.length === 0)) {
      add("time passes", false, () => {
        if (!time.advance()) time.jump(leaseMs + 1);
      });
    }
    return found;
  };

  const isSettled = () => {
    const isIdle = members.every(({ process }) => process.state === "running" && process.isIdle);
    const isSent = [...sent.values()].every(({ by, isAcknowledged }) => isAcknowledged && by.length === 0);
    return isIdle && isSent && ledger.isSettled();
  };
  const afterChoice = async (crashed: Member | undefined) => {
    await drain();
    if (crashed) {
      crashed.process.crash();
      members = members.filter((member) => member !== crashed);
      for (const { by } of sent.values()) {
        for (let at = by.indexOf(crashed.process); at >= 0; at = by.indexOf(crashed.process))
          by.splice(at, 1);
      }
      startMember();
      await drain();
    }
    const acknowledged = events.map(({ id }) => id).filter((id) => sent.get(id)?.isAcknowledged);
    await ledger.observe(store, new Set(acknowledged));
  };

  for (let count = 0; count < workers; count++) startMember();
  await drain();
  // The first claims find nothing. That a worker starts late is explored with those that replace others.
  for (const { process } of members) for (const call of process.parked) void call.run();
  await afterChoice(undefined);
  return {
    story,
    choices: () =>
      ledger.violation ? [] : [...options_()].map(([label, { isFault }]): Choice => ({ label, isFault })),
    async take(label) {
      const choice = options_().get(label);
      if (!choice) throw new Error(`no choice ${label}`);
      story.push(`${(time.nowMs / 1_000).toFixed(3)} s: ${label}`);
      const outcome = await choice.run();
      const name = label.split(/[ :]/)[0];
      const crashed = outcome === "crash" ? members.find(({ process }) => process.name === name) : undefined;
      await afterChoice(crashed);
    },
    fingerprint() {
      const processes = members.map(({ process }) => `${process.fingerprint()} ${store.heldBy(process)}`);
      const deliveries = [...sent].map(
        ([id, { by, isAcknowledged }]) => `${id} ${by.length} ${isAcknowledged}`,
      );
      const stored = [store.fingerprint(), deliveries, left, ledger.fingerprint()];
      return JSON.stringify([processes.sort(), ...stored]);
    },
    violation: () => ledger.violation ?? (isSettled() ? ledger.finalViolation(events) : undefined),
  };
}

interface MemberContext {
  readonly name: string;
  readonly time: explored.ExploredTimers;
  readonly store: StoreUnderTest;
  readonly ledger: InboxLedger;
}

function createMember(options: InboxScopeOptions, { name, time, store, ledger }: MemberContext) {
  const { parts, concurrency = 2, attemptsMax = 3, keyOrder = "latest", batches, badEvent } = options;
  const phases = new Map<string, string>();
  const memory = () => memoryOf({ worker, inProgress: ingest, phases: [...phases].sort() }, time, store);
  const process: explored.ExploredProcess = explored.createExploredProcess({ name, time, memory });
  const connection = store.connect(process);
  const inbox = parkCalls(process, connection, store, ledger);
  // Distinct names, the same in every run.
  let drawn = 0;
  const random = () => (drawn++ < 16 ? ((Number(name.slice(1)) * 7 + drawn) % 32) / 32 : 0.5);
  // Without the time limits of calls: the explorer decides when a call ends.
  const limited = parts.resolveReceiverOptions<unknown>({
    inbox,
    random,
    concurrency,
    keyOrder,
    leaseMs,
    secrets: ["whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="],
    clock: process.clock,
    pollMs: leaseMs,
    acceptTimeoutMs: 3 * leaseMs,
    handlerTimeoutMs: 4 * leaseMs,
    retry: { firstDelayMs: 1_000, delayMsMax: 1_000, attemptsMax },
    logger: { info() {}, warn() {}, error() {} },
  });
  const settings = { ...limited, inbox };
  const handlers = new parts.Handlers<unknown>();
  const handle = async (
    items: readonly HandledItem[],
    { transaction, signal }: TransactionContext<unknown>,
  ) => {
    const end = process.begin();
    const handled = items.map(({ id, event, attempt }) => ({ id, key: event.taskId, attempt }));
    const attempts = ledger.start(process, handled);
    signal.addEventListener("abort", () => {
      for (const attempt of attempts) ledger.aborted(attempt);
      end();
    });
    const ids = items.map(({ id }) => id);
    try {
      phases.set(ids.join(), "working");
      await process.park(`handler of ${ids.join()}`, async () => {});
      if (badEvent !== undefined && ids.includes(badEvent)) throw new Error("a bad event");
      for (const id of ids) (transaction as MemoryTransaction).apply(() => ledger.effect(id));
    } finally {
      phases.delete(ids.join());
      for (const attempt of attempts) ledger.end(attempt);
      end();
    }
  };
  const setState = ({ taskId, status, occurredAt }: TaskEvent, id: string, transaction: unknown) =>
    (transaction as MemoryTransaction).apply(() => ledger.setState(taskId, status, occurredAt, id));
  const onBatch = async (items: readonly BatchItem<TaskEvent>[], context: TransactionContext<unknown>) => {
    await handle(items, context);
    for (const { event, id, stale, alreadyApplied } of items)
      if (!stale && !alreadyApplied) setState(event, id, context.transaction);
  };
  if (batches === "events") handlers.onBatch("task.*", onBatch);
  else if (batches === "states") handlers.onStateBatch("task", onBatch);
  else {
    handlers.on("task.*", (event, context) =>
      handle([{ ...context, event, attempt: context.attempt }], context),
    );
    handlers.onState("task", (event, { transaction, id }) => setState(event, id, transaction));
  }
  const open = parts.openOnce(settings.inbox);
  const worker = new parts.Worker<unknown>({ ...settings, handlers });
  const ingest = new parts.Ingest({ ...settings, open });
  void open().then(() => worker.start());
  const send = async (event: ExploredEvent) => {
    const end = process.begin();
    try {
      await ingest.accept({ id: event.id, timestamp: 0, body: bodyOf(event), secretIndex: 0 });
    } finally {
      end();
    }
  };
  return { process, send };
}

type HandledItem = Pick<BatchItem<TaskEvent>, "id" | "event" | "attempt">;

// What differs between runs and decides nothing, and what is the same for all processes.
const ignored: ReadonlySet<string> = new Set(
  (
    "private_settings private_options private_name private_claims private_outage private_clock counts logger " +
    "private_counts private_backlogs private_storing private_isOpen"
  ).split(" "),
);

function memoryOf(parts: object, time: explored.ExploredTimers, store: StoreUnderTest): string {
  const textOf = (value: object) => {
    if ("keyId" in value) return store.leaseText(value as InboxLease);
    if (!("lease" in value) || !("attempts" in value)) return undefined;
    const { id, attempts, head, lease } = value as InboxClaim;
    return `${id} ${attempts} ${head} ${store.leaseText(lease)}`;
  };
  return visibleState(parts, { nowMs: time.nowMs, textOf, ignored });
}

const bodyOf = ({ id, taskId, status, at }: ExploredEvent) =>
  Buffer.from(
    JSON.stringify({
      id: `event-${id}`,
      event: `task.${status.toLowerCase()}`,
      version: "2",
      workspaceId: "workspace",
      occurredAt: `2026-03-01T09:30:0${at}.000Z`,
      clientId: "client",
      taskId,
      taskType: "TAX_PREP",
      status,
    }),
  );

type Connection = ReturnType<StoreUnderTest["connect"]>;

function parkCalls(
  process: explored.ExploredProcess,
  connection: Connection,
  store: StoreUnderTest,
  ledger: InboxLedger,
): Connection {
  const parkedMethods: Partial<Connection> = {
    insert: (row) => process.park(`insert ${row.id}`, () => connection.insert(row)),
    claim: (claimOptions) => {
      const { rowsMax, rowsPerKeyMax } = claimOptions;
      const claim = async () => {
        const result = await connection.claim(claimOptions);
        store.claimed(process, result.claims);
        ledger.died(result.died.map(({ id }) => id));
        return result;
      };
      return process.park(`claim ${rowsMax} ${rowsPerKeyMax}`, claim);
    },
    renew: (leases, ms) =>
      process.park(`renew ${leases.map(store.leaseText).join()}`, () => connection.renew(leases, ms)),
    fail: (claim, failure) => {
      const fail = async () => {
        const isHeld = await connection.fail(claim, failure);
        if (isHeld && failure.kind === "release") ledger.released(claim.id, claim.attempts);
        return isHeld;
      };
      return process.park(`${failure.kind} ${claim.id}`, fail);
    },
    begin: (items, beginOptions) => {
      const transaction = connection.begin(items, beginOptions);
      const ends = items.map(({ claim, settlement }) => `${claim.id} ${settlement.state}`);
      return {
        handle: transaction.handle,
        commit: () => process.park(`commit ${ends.join()}`, () => transaction.commit()),
        rollback: () => transaction.rollback(),
      };
    },
  };
  return new Proxy(connection, {
    get(target, name: keyof Connection) {
      const member: unknown = parkedMethods[name] ?? target[name];
      return typeof member === "function" ? member.bind(target) : member;
    },
  });
}
