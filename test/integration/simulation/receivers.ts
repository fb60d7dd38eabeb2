import { storeOf } from "../../../receiver-kit/inbox/inbox.ts";
import { createEffects, type Effects } from "./effects.ts";
import { createNetwork, type Network } from "./network.ts";
import { type SimulatedReceiver, startReceiver } from "./simulated-receiver.ts";
import type { SimulationWorld, Store } from "./world.ts";

/** Everything behind the endpoint's URL: the receiver processes, their store, their secrets. */
export interface Receivers {
  readonly store: Store;
  readonly effects: Effects;
  readonly network: Network;
  /** Called once the service exists. */
  setWorkspace(id: string): void;
  /** The secrets that verify, newest first. */
  readonly secrets: {
    add(secret: string): void;
    remove(secret: string): void;
    /** Secrets that were removed. */
    retired(): readonly string[];
  };
  /** The processes that are not dead. */
  running(): readonly SimulatedReceiver[];
  /** Replaces every process that is dead or closing. */
  restart(): void;
  /** Closes one process in good order, as for a new version. */
  close(receiver: SimulatedReceiver): void;
}

export function createReceivers(world: SimulationWorld): Receivers {
  const { trace, settings, products } = world;
  const store = storeOf(products.receiverKit.memoryInbox({ clock: world.storeClock.clock }));
  const effects = createEffects(world);
  const secrets: string[] = [];
  const retired: string[] = [];
  let receivers: SimulatedReceiver[] = [];
  const closing = new Set<SimulatedReceiver>();
  let started = 0;

  const running = () => receivers.filter(({ process }) => process.state !== "dead");
  const accepting = () => running().filter((receiver) => !closing.has(receiver));
  let workspaceId = "";
  const workspace = () => workspaceId;
  const shared = { store, effects, secrets: () => [...secrets], workspaceId: workspace };

  return {
    store,
    effects,
    setWorkspace(id) {
      workspaceId = id;
    },
    network: createNetwork(world, { store, receivers: accepting, secrets: shared.secrets }),
    secrets: {
      add: (secret) => void secrets.unshift(secret),
      remove(secret) {
        if (secrets.includes(secret)) retired.push(...secrets.splice(secrets.indexOf(secret), 1));
      },
      retired: () => retired,
    },
    running,
    restart() {
      receivers = running();
      while (accepting().length < settings.receiverProcesses) {
        started += 1;
        receivers.push(startReceiver(world, shared, `receiver-${started}`));
      }
    },
    close(closed) {
      closing.add(closed);
      trace.log(`${closed.process.name} closes`);
      void closed.receiver.close({ graceMs: 5_000 }).then(closed.process.exit, closed.process.exit);
    },
  };
}
