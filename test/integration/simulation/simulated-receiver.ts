import type { SubtaskEvent, TaskEvent } from "@workspace-tasks/events";
import type {
  BatchHandler,
  HandlerContext,
  MemoryTransaction,
  Receiver,
} from "@workspace-tasks/receiver-kit";
import { withTimeout } from "../../../sdk/kernel/with-timeout.ts";
import { interceptInbox, overrideInbox } from "../../support/wrap-inbox.ts";
import type { Effects } from "./effects.ts";
import { createProcess, type SimulatedProcess } from "./simulated-process.ts";
import { checkOtherTenant, resolveSecrets } from "./tenants.ts";
import { mainTenant, type SimulationWorld, type Store, source } from "./world.ts";

export interface SimulatedReceiver {
  readonly process: SimulatedProcess;
  readonly receiver: Receiver<MemoryTransaction>;
}

/** What all receiver processes share. */
export interface SharedState {
  readonly store: Store;
  readonly effects: Effects;
  /** The secrets that the receivers verify with, read at every delivery. */
  readonly secrets: () => readonly string[];
  /** The workspace of the service, once it is known. */
  readonly workspaceId: () => string;
}

export const acceptTimeoutMs = 10_000;
export const leaseMs = 30_000;
export const pollMs = 300_000;
const handlerTimeoutMs = 20_000;

export function startReceiver(world: SimulationWorld, shared: SharedState, name: string): SimulatedReceiver {
  const { products, settings, random } = world;
  const process = createProcess(world, name);
  const receiver = products.receiverKit.createReceiver<MemoryTransaction>({
    secrets: resolveSecrets(world, shared, process),
    inbox: connectInbox(world, shared.store, process),
    source,
    clock: process.clock,
    random: random.stream(`receiver/${name}`).number,
    keyOrder: settings.keyOrder,
    retry: { firstDelayMs: 1_000, delayMsMax: 120_000, attemptsMax: 6 },
    concurrency: 4,
    logger: { info() {}, warn() {}, error() {} },
    acceptTimeoutMs,
    leaseMs,
    handlerTimeoutMs,
    pollMs,
  });
  addHandlers(world, shared, process, receiver);
  // A supervisor would restart a process that fails to start.
  const start = (): Promise<void> => receiver.start().catch(() => process.sleep(1_000).then(start));
  void start();
  world.trace.log(`${name} starts`);
  return { process, receiver };
}

function addHandlers(
  world: SimulationWorld,
  { effects }: SharedState,
  process: SimulatedProcess,
  receiver: Receiver<MemoryTransaction>,
): void {
  const expectedTenant = world.settings.tenants ? mainTenant : undefined;
  const random = world.random.stream(`handlers/${process.name}`);
  const { NonRetryableError } = world.products.receiverKit;

  const work = async () => {
    await process.crashPoint("C5");
    // May exceed the handler timeout, and ignores the abort signal.
    if (world.faultOccurs("handlerSlow", random)) {
      await process.sleep(random.integer(1, handlerTimeoutMs + 5_000));
    }
    if (world.faultOccurs("handlerGivesUp", random)) throw new NonRetryableError("cannot be handled");
    if (world.faultOccurs("handlerFails", random)) throw new Error("failed for now");
    await process.crashPoint("C7");
  };
  /** True for an event of the service. */
  const isOurs = (
    event: object,
    { tenant, id }: Pick<HandlerContext<MemoryTransaction>, "tenant" | "id">,
  ) => {
    if (tenant === expectedTenant) return true;
    const { workspaceId } = event as { readonly workspaceId?: unknown };
    checkOtherTenant(world, { tenant, id, workspaceId });
    return false;
  };
  if (world.settings.batches) {
    const onBatch: BatchHandler<TaskEvent | SubtaskEvent, MemoryTransaction> = async (
      items,
      { transaction, signal },
    ) => {
      const own = items.filter((item) => isOurs(item.event, item));
      for (const { event, id, replayed, channel } of own) {
        const context = { id, replayed, transaction };
        if (channel === "webhook") effects.add(process.name, context);
        effects.setState(process.name, event, context);
      }
      const attemptAll = own.reduceRight(
        (rest, { id }) =>
          () =>
            effects.attempt(process, { id, signal }, rest),
        work,
      );
      await attemptAll();
    };
    receiver.onStateBatch("task", onBatch);
    receiver.onStateBatch("subtask", onBatch);
    return;
  }
  receiver.on("*", async (event, context) => {
    if (!isOurs(event, context)) return;
    effects.add(process.name, context);
    await effects.attempt(process, context, work);
  });
  receiver.onState("task", async (event, context: HandlerContext<MemoryTransaction>) => {
    if (!isOurs(event, context)) return;
    effects.setState(process.name, event, context);
    // An event read from the tasks API reaches only state handlers.
    if (context.channel === "reconcile") await effects.attempt(process, context, work);
  });
  receiver.onState("subtask", (event, context) => {
    if (isOurs(event, context)) effects.setState(process.name, event, context);
  });
}

/** As a pool that may wait for a client, and then for its response: the server may execute the call all the same. */
const callTimeoutMs = 10_000;

/**
 * One process's connection to the store. Between them: latency, outages, commits whose outcome is lost, connections that
 * die without a word, and crashes.
 * The store itself changes atomically, as a committed transaction does: what was not committed is lost.
 */
export function connectInbox(world: SimulationWorld, store: Store, process: SimulatedProcess): Store {
  const random = world.random.stream(`inbox/${process.name}`);

  const silenceRandom = world.random.stream(`silence/${process.name}`);
  const silence = new Promise<never>(() => {});
  const isSilent = () => world.faultOccurs("inboxSilent", silenceRandom);

  /** @param mayArriveLate false for a commit: the rows of an open transaction stay locked until it is known */
  const sendRequest = async (mayArriveLate = true) => {
    if (isSilent()) {
      process.inboxTroubleMs = world.clock.monotonic();
      if (!mayArriveLate || silenceRandom.happens(0.5)) await silence;
      // After the caller's time limit, and mostly after the lease.
      await process.sleep(silenceRandom.integer(11_000, 90_000));
    }
    const slow = world.faultOccurs("inboxSlow", random);
    if (slow) process.inboxTroubleMs = world.clock.monotonic();
    await process.sleep(slow ? random.integer(1, 12_000) : 0);
    const isFailedOver = world.clock.monotonic() < world.storeOutage.untilMs;
    if (!world.faultOccurs("inboxDown", random) && !isFailedOver) return;
    process.inboxTroubleMs = world.clock.monotonic();
    throw new Error("connection refused");
  };
  /** @param failovers of the store, when the call began */
  const receive = async <Result>(result: Result, failovers: number): Promise<Result> => {
    if (failovers < world.storeOutage.failovers) {
      process.inboxTroubleMs = world.clock.monotonic();
      throw new Error("the server is shutting down");
    }
    if (isSilent()) {
      process.inboxTroubleMs = world.clock.monotonic();
      await silence;
    }
    if (world.faultOccurs("inboxOutcomeUnknown", random)) {
      process.inboxTroubleMs = world.clock.monotonic();
      throw new Error("connection lost while committing");
    }
    await process.sleep();
    return result;
  };
  /** May crash the process during a commit; the seed says whether the commit took place. */
  const crashDuringCommit = async (point: "C2" | "C6", commit: () => Promise<unknown>) => {
    const committed = random.happens(0.5);
    if (!world.faultOccurs("crash", random)) return;
    if (committed) await commit();
    process.crash(point);
    await process.sleep();
  };
  const connection = interceptInbox(store, async (method, call) => {
    if (method === "writeMarks" || method === "keepMark" || method === "purge")
      await process.crashPoint("C9");
    const { failovers } = world.storeOutage;
    await sendRequest();
    return receive(await call(), failovers);
  });

  const connected = overrideInbox(connection, {
    durable: true,
    close: async () => process.sleep(),
    begin(items, options) {
      const begun = store.begin(items, options);
      return {
        handle: begun.handle,
        rollback: () => begun.rollback(),
        async commit() {
          const { failovers } = world.storeOutage;
          await sendRequest(false);
          await crashDuringCommit("C6", () => begun.commit());
          const outcome = await begun.commit();
          if (outcome === "lost") world.meet("C8");
          return receive(outcome, failovers);
        },
      };
    },
    async insert(row) {
      await process.crashPoint("C1");
      const { failovers } = world.storeOutage;
      await sendRequest();
      await crashDuringCommit("C2", () => store.insert(row));
      const result = await store.insert(row);
      await process.crashPoint("C3");
      return receive(result, failovers);
    },
    async claim(options) {
      await process.crashPoint("C4");
      const { failovers } = world.storeOutage;
      await sendRequest();
      const result = await store.claim(options);
      if (result.claims.length > 0) await process.crashPoint("C5");
      return receive(result, failovers);
    },
    async subscribe(wake) {
      const unsubscribe = await store.subscribe?.((source) => void process.sleep().then(() => wake(source)));
      return async () => unsubscribe?.();
    },
  });
  const late = () => new Error("no response");
  return interceptInbox(connected, (_, call) => withTimeout(call(), callTimeoutMs, world.clock, late));
}
