import { createDeliveryRoad, type DeliveryRoad } from "./delivery-road.ts";
import { createLedger, type Ledger } from "./ledger.ts";
import { type ReceiverProcess, startReceiver } from "./receiver-process.ts";
import type { Scene, Store } from "./scene.ts";

/** Everything behind the endpoint's address: the processes, their store, and whoever operates them. */
export type ReceiverSide = {
  readonly store: Store;
  readonly ledger: Ledger;
  readonly road: DeliveryRoad;
  /** The secrets that verify, newest first. */
  readonly secrets: {
    add(secret: string): void;
    remove(secret: string): void;
    /** Those that were removed. */
    retired(): readonly string[];
  };
  /** The processes that are not dead. */
  running(): readonly ReceiverProcess[];
  /** Starts a process in the place of each dead one, or of those that have closed. */
  restart(): void;
  /** Closes one process in good order, as for a new version. */
  closeOne(process: ReceiverProcess): void;
};

export function createReceiverSide(scene: Scene): ReceiverSide {
  const { clock, trace, settings, products } = scene;
  const rows = delegate(products.receiverKit.memoryInbox({ clock }));
  const store = products.store?.()(rows) ?? rows;
  const ledger = createLedger(scene);
  const secrets: string[] = [];
  const retired: string[] = [];
  let processes: ReceiverProcess[] = [];
  const closing = new Set<ReceiverProcess>();
  let started = 0;

  const running = () => processes.filter(({ life }) => life.state !== "dead");
  const open = () => running().filter((process) => !closing.has(process));
  const site = { store, ledger, secrets: () => [...secrets] };

  return {
    store,
    ledger,
    road: createDeliveryRoad(scene, { store, processes: open, secrets: site.secrets }),
    secrets: {
      add: (secret) => void secrets.unshift(secret),
      remove(secret) {
        if (secrets.includes(secret)) retired.push(...secrets.splice(secrets.indexOf(secret), 1));
      },
      retired: () => retired,
    },
    running,
    restart() {
      processes = running();
      while (open().length < settings.receiverProcesses) {
        started += 1;
        processes.push(startReceiver(scene, site, `receiver-${started}`));
      }
    },
    closeOne(process) {
      closing.add(process);
      trace.note(`${process.life.name} closes`);
      void process.receiver.close({ graceMs: 5_000 }).then(
        () => process.life.die("ordered"),
        () => process.life.die("ordered"),
      );
    },
  };
}

/** A plain object with the methods of the inbox, so that some of them can be replaced. */
function delegate(inbox: Store): Store {
  return {
    durable: inbox.durable,
    open: () => inbox.open(),
    close: () => inbox.close(),
    insert: (arrival) => inbox.insert(arrival),
    claim: (options) => inbox.claim(options),
    renew: (claims, leaseMs) => inbox.renew(claims, leaseMs),
    begin: (claim, settlement, options) => inbox.begin(claim, settlement, options),
    fail: (claim, failure) => inbox.fail(claim, failure),
    subscribe: async (wake) => (await inbox.subscribe?.(wake)) ?? (async () => {}),
    list: (filter) => inbox.list(filter),
    get: (row) => inbox.get(row),
    replay: (row, facts) => inbox.replay(row, facts),
    discard: (row) => inbox.discard(row),
    head: (source, key) => inbox.head(source, key),
    reconcileCandidates: (options) => inbox.reconcileCandidates(options),
    heartbeat: (source) => inbox.heartbeat(source),
    purge: (retention, rowsMax) => inbox.purge(retention, rowsMax),
    backlog: (source, limit) => inbox.backlog(source, limit),
    stats: () => inbox.stats(),
    beginInline: (webhook, options) => inbox.beginInline(webhook, options),
    finishInline: (id, options) => inbox.finishInline(id, options),
    advanceHead: (options) => inbox.advanceHead(options),
  };
}
