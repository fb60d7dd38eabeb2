import type { SubtaskEvent, TaskEvent } from "@workspace-tasks/events";
import type {
  BatchHandler,
  HandlerContext,
  MemoryTransaction,
  Receiver,
} from "@workspace-tasks/receiver-kit";
import type { Effects } from "./effects.ts";
import { connectInbox } from "./inbox-connection.ts";
import { createProcess, type SimulatedProcess } from "./simulated-process.ts";
import { type OtherTenant, resolveSecrets } from "./tenants.ts";
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
  readonly otherTenant: OtherTenant;
}

export const acceptTimeoutMs = 10_000;
export const leaseMs = 30_000;
export const pollMs = 300_000;
const handlerTimeoutMs = 20_000;

export function startReceiver(world: SimulationWorld, shared: SharedState, name: string): SimulatedReceiver {
  const { products, settings, random } = world;
  const process = createProcess(world, name);
  const connection = connectInbox(world, shared.store, process);
  const receiver = products.receiverKit.createReceiver<MemoryTransaction>({
    secrets: resolveSecrets(world, shared, process),
    inbox: products.connection?.(connection) ?? connection,
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
  { effects, otherTenant }: SharedState,
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
    otherTenant.checkEvent(world, { tenant, id, workspaceId });
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
