import type { HandlerContext, MemoryTransaction, Receiver } from "workspace-tasks/receiver-kit";
import { connectInbox } from "./inbox-connection.ts";
import type { Ledger } from "./ledger.ts";
import { createProcessLife, type ProcessLife } from "./process-life.ts";
import { type Scene, type Store, source } from "./scene.ts";

export type ReceiverProcess = {
  readonly life: ProcessLife;
  readonly receiver: Receiver<MemoryTransaction>;
};

export type ReceiverSite = {
  readonly store: Store;
  readonly ledger: Ledger;
  /** The secrets that the operator has given to the receivers; asked at every delivery. */
  readonly secrets: () => readonly string[];
};

export const acceptTimeoutMs = 10_000;
const leaseMs = 30_000;
const handlerTimeoutMs = 20_000;

/** Starts a receiver in a process of its own, on the store that all of them share. */
export function startReceiver(scene: Scene, site: ReceiverSite, name: string): ReceiverProcess {
  const life = createProcessLife(scene, name);
  const connection = connectInbox(scene, site.store, life);
  const receiver = scene.products.receiverKit.createReceiver<MemoryTransaction>({
    secrets: site.secrets,
    inbox: scene.products.inbox?.(connection) ?? connection,
    source,
    clock: life.clock,
    random: scene.chance.stream(`receiver/${name}`).number,
    keyOrder: scene.settings.keyOrder,
    retry: { firstDelayMs: 1_000, delayMsMax: 120_000, attemptsMax: 6 },
    concurrency: 4,
    pollMs: 300_000,
    logger: silent,
    ...{ acceptTimeoutMs, leaseMs, handlerTimeoutMs },
  });
  addHandlers(scene, site.ledger, life, receiver);
  // A start that fails is tried again, as whatever supervises a process would.
  const start = (): Promise<void> => receiver.start().catch(() => life.pass(1_000).then(start));
  void start();
  scene.trace.note(`${name} starts`);
  return { life, receiver };
}

const silent = { info() {}, warn() {}, error() {} };

function addHandlers(
  scene: Scene,
  ledger: Ledger,
  life: ProcessLife,
  receiver: Receiver<MemoryTransaction>,
): void {
  const chance = scene.chance.stream(`handlers/${life.name}`);
  const { NonRetryableError } = scene.products.receiverKit;

  const work = async ({ idempotencyKey }: HandlerContext<MemoryTransaction>) => {
    await life.mayDieAt("C5");
    // Sometimes longer than handlers may take, and deaf to the signal that says so.
    if (scene.troubled("handlerSlow", chance)) await life.pass(chance.integer(1, handlerTimeoutMs + 5_000));
    if (scene.troubled("handlerGivesUp", chance)) throw new NonRetryableError("cannot be handled");
    if (scene.troubled("handlerFails", chance)) throw new Error("failed for now");
    ledger.outside.set(idempotencyKey, (ledger.outside.get(idempotencyKey) ?? 0) + 1);
    await life.mayDieAt("C7");
  };
  receiver.on("*", async (_, context) => {
    ledger.takeEffect(context);
    await work(context);
  });
  receiver.onState("task", async (event, context) => {
    ledger.applyState(event, context);
    // What was read from the tasks API is seen by state handlers alone.
    if (context.channel === "reconcile") await work(context);
  });
  receiver.onState("subtask", (event, context) => ledger.applyState(event, context));
}
