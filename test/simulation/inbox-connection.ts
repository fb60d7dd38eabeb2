import type { HandlerTransaction, MemoryTransaction } from "workspace-tasks/receiver-kit";
import type { ProcessLife } from "./process-life.ts";
import type { Scene, Store } from "./scene.ts";

/**
 * The inbox as one process reaches it. The rows are in the store, as on a disk that outlives every process; between
 * the process and the store lie latency, outages, commits whose outcome nobody learns, and the death of the process.
 * The store itself changes in one step, as a committed transaction does: what was not committed is lost.
 */
export function connectInbox(scene: Scene, store: Store, life: ProcessLife): Store {
  const chance = scene.chance.stream(`inbox/${life.name}`);

  const arrive = async () => {
    const slow = scene.troubled("inboxSlow", chance);
    await life.pass(slow ? chance.integer(1, 12_000) : 0);
    if (scene.troubled("inboxDown", chance)) throw new Error("connection refused");
  };
  const come = async <Result>(result: Result): Promise<Result> => {
    if (scene.troubled("inboxOutcomeUnknown", chance)) throw new Error("connection lost while committing");
    await life.pass();
    return result;
  };
  const read = async <Result>(work: () => Promise<Result>): Promise<Result> => {
    await arrive();
    return come(await work());
  };
  /** Dies while the commit is on its way, so that it happened or did not, as the seed says. */
  const mayDieCommitting = async (point: "C2" | "C6", commit: () => Promise<unknown>) => {
    const happens = chance.happens(0.5);
    if (!scene.troubled("crash", chance)) return;
    if (happens) await commit();
    life.die(point);
    await life.pass();
  };

  const begin: Store["begin"] = (claim, settlement, options) => {
    const begun = store.begin(claim, settlement, options);
    const transaction: HandlerTransaction<MemoryTransaction> = {
      handle: begun.handle,
      rollback: () => begun.rollback(),
      async commit() {
        await arrive();
        await mayDieCommitting("C6", () => begun.commit());
        const outcome = await begun.commit();
        if (outcome === "lost") scene.crashes.C8 += 1;
        return come(outcome);
      },
    };
    return transaction;
  };

  return {
    durable: true,
    open: () => read(() => store.open()),
    close: async () => life.pass(),
    begin,
    async insert(arrival) {
      await life.mayDieAt("C1");
      await arrive();
      await mayDieCommitting("C2", () => store.insert(arrival));
      const insertion = await store.insert(arrival);
      await life.mayDieAt("C3");
      return come(insertion);
    },
    async claim(options) {
      await life.mayDieAt("C4");
      await arrive();
      const result = await store.claim(options);
      if (result.claims.length > 0) await life.mayDieAt("C5");
      return come(result);
    },
    async heartbeat(source) {
      await life.mayDieAt("C9");
      return read(() => store.heartbeat(source));
    },
    async purge(retention, rowsMax) {
      await life.mayDieAt("C9");
      return read(() => store.purge(retention, rowsMax));
    },
    async subscribe(wake) {
      const unsubscribe = await store.subscribe?.(() => void life.pass().then(wake));
      return async () => unsubscribe?.();
    },
    fail: (claim, failure) => read(() => store.fail(claim, failure)),
    renew: (claims, leaseMs) => read(() => store.renew(claims, leaseMs)),
    list: (filter) => read(() => store.list(filter)),
    get: (row) => read(() => store.get(row)),
    replay: (row, facts) => read(() => store.replay(row, facts)),
    discard: (row) => read(() => store.discard(row)),
    head: (name, key) => read(() => store.head(name, key)),
    reconcileCandidates: (options) => read(() => store.reconcileCandidates(options)),
    backlog: (name, limit) => read(() => store.backlog(name, limit)),
    stats: () => read(() => store.stats()),
    beginInline: (webhook, options) => read(() => store.beginInline(webhook, options)),
    finishInline: (id, options) => read(() => store.finishInline(id, options)),
    advanceHead: (options) => read(() => store.advanceHead(options)),
  };
}
