// The scopes that are explored, from small to large. Those with `isSmall` take seconds and run in every `npm test`.

import { importPatched, type Patch } from "../simulation/patched-product.ts";
import type { Scope } from "./explore.ts";
import type * as Parts from "./explored-parts.ts";
import { type ExploredEvent, type InboxScopeOptions, inboxScope } from "./inbox-scope.ts";
import { memoryStore } from "./inbox-stores.ts";
import { createSqliteFolder, type SqliteFolder } from "./sqlite-store.ts";

type InboxSettings = Omit<InboxScopeOptions, "name" | "parts" | "createStore">;

export interface ScopeDefinition {
  readonly name: string;
  readonly isSmall?: true;
  readonly store: "memory" | "sqlite";
  readonly inbox: InboxSettings;
}

const running: ExploredEvent = { id: "e1", taskId: "task", status: "RUNNING", at: 1 };
const completed: ExploredEvent = { id: "e2", taskId: "task", status: "COMPLETED", at: 2 };
const ofOtherTask: ExploredEvent = { id: "e3", taskId: "other", status: "RUNNING", at: 1 };
const failed: ExploredEvent = { id: "e4", taskId: "task", status: "FAILED", at: 3 };

const crash: InboxSettings = { events: [running, completed], workers: 1, budgets: { crashes: 1 } };
const pause: InboxSettings = { events: [running], workers: 2, budgets: { pauses: 1 } };
const twoWorkers: InboxSettings = { ...crash, workers: 2 };
const poison: InboxSettings = { events: [running], workers: 1, budgets: { crashes: 2 }, attemptsMax: 2 };
const duplicates: InboxSettings = { events: [running], workers: 1, budgets: { duplicates: 1, lostCalls: 1 } };
const retries: InboxSettings = { events: [running, completed], workers: 1, budgets: { handlerFailures: 1 } };
const chains: InboxSettings = {
  ...{ events: [running, completed, failed], workers: 1, concurrency: 1 },
  budgets: { crashes: 1, handlerFailures: 1 },
};
const lostCalls: InboxSettings = { events: [running, completed], workers: 1, budgets: { lostCalls: 2 } };
const twoCrashes: InboxSettings = { events: [running, completed], workers: 2, budgets: { crashes: 2 } };
const pauseAndCrash: InboxSettings = {
  events: [running, completed],
  workers: 2,
  budgets: { crashes: 1, pauses: 1 },
};
const strict: InboxSettings = {
  ...twoWorkers,
  keyOrder: "strict",
  budgets: { crashes: 1, handlerFailures: 1 },
};
const threeWorkers: InboxSettings = {
  events: [running, completed, ofOtherTask],
  workers: 3,
  budgets: { crashes: 2 },
};

const bothStores = (name: string, inbox: InboxSettings, small: "small" | "large" | "memory is small") =>
  (["memory", "sqlite"] as const).map((store): ScopeDefinition => {
    const isSmall = small === "small" || (small === "memory is small" && store === "memory");
    return { name: `${store}-${name}`, store, inbox, ...(isSmall && { isSmall }) };
  });

export const scopes: readonly ScopeDefinition[] = [
  ...bothStores("poison", poison, "memory is small"),
  ...bothStores("duplicates", duplicates, "small"),
  ...bothStores("retries", retries, "large"),
  ...bothStores("crash", crash, "large"),
  ...bothStores("pause", pause, "large"),
  ...bothStores("two-workers", twoWorkers, "large"),
  ...bothStores("strict", strict, "large"),
  ...bothStores("lost-calls", lostCalls, "large"),
  ...bothStores("chains", chains, "large"),
  ...bothStores("two-crashes", twoCrashes, "large"),
  ...bothStores("pause-and-crash", pauseAndCrash, "large"),
  ...bothStores("three-workers", threeWorkers, "large"),
];

export function scopeNamed(name: string): ScopeDefinition {
  const found = scopes.find((scope) => scope.name === name);
  if (!found) throw new Error(`expected one of ${scopes.map((scope) => scope.name).join(", ")}, got ${name}`);
  return found;
}

export interface ExploredProducts extends Disposable {
  create(definition: ScopeDefinition): Promise<Scope>;
}

/** The products to explore, with the patches of a mutant or none. */
export async function loadProducts(
  mutant: { readonly name: string; readonly patches: readonly Patch[] } = { name: "none", patches: [] },
): Promise<ExploredProducts> {
  const entry = "../test/integration/explorer/explored-parts.ts";
  const loaded = await importPatched<typeof Parts>(
    "receiver-kit",
    { ...mutant, exposesPrivate: true },
    entry,
  );
  const { module: parts } = loaded;
  let folder: SqliteFolder | undefined;
  return {
    async create({ name, store, inbox }) {
      if (store === "sqlite") folder ??= await createSqliteFolder(parts);
      const createStore = store === "sqlite" && folder ? folder.createStore : memoryStore;
      return inboxScope({ name, parts, createStore, ...inbox });
    },
    [Symbol.dispose]() {
      folder?.[Symbol.dispose]();
      loaded[Symbol.dispose]();
    },
  };
}
