// The scopes that are explored, from small to large. Those with `isSmall` take seconds and run in every `npm test`.

import { importPatched, type Patch } from "../simulation/patched-product.ts";
import type { Scope } from "./explore.ts";
import type * as Parts from "./explored-parts.ts";
import { type ExploredEvent, type InboxScopeOptions, inboxScope } from "./inbox-scope.ts";

type InboxSettings = Omit<InboxScopeOptions, "name" | "parts">;

export interface ScopeDefinition {
  readonly name: string;
  readonly isSmall?: true;
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
  events: [running, completed, failed],
  workers: 1,
  concurrency: 1,
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

/** Two events of a task and one of another: a batch in which a key occurs twice. */
const batch: InboxSettings = { events: [running, completed, ofOtherTask], workers: 1, batches: "events" };
const badInBatch: InboxSettings = { ...batch, badEvent: ofOtherTask.id, attemptsMax: 2 };
const badOfTwo: InboxSettings = { ...badInBatch, events: [running, ofOtherTask] };

export const scopes: readonly ScopeDefinition[] = [
  { name: "poison", inbox: poison, isSmall: true },
  { name: "duplicates", inbox: duplicates, isSmall: true },
  { name: "batch-with-bad-event", inbox: badOfTwo, isSmall: true },
  { name: "bad-of-three", inbox: badInBatch },
  { name: "batch-fails", inbox: { ...batch, budgets: { handlerFailures: 1, lostCalls: 1 } } },
  { name: "batch-crash", inbox: { ...batch, budgets: { crashes: 1 } } },
  { name: "batch-of-states", inbox: { ...batch, batches: "states", budgets: { crashes: 1 } } },
  {
    name: "batch-pause",
    inbox: { ...batch, events: [running, ofOtherTask], workers: 2, budgets: { pauses: 1 } },
  },
  { name: "bad-event-and-crash", inbox: { ...badInBatch, attemptsMax: 3, budgets: { crashes: 1 } } },
  { name: "retries", inbox: retries },
  { name: "crash", inbox: crash },
  { name: "pause", inbox: pause },
  { name: "two-workers", inbox: twoWorkers },
  { name: "strict", inbox: strict },
  { name: "lost-calls", inbox: lostCalls },
  { name: "chains", inbox: chains },
  { name: "two-crashes", inbox: twoCrashes },
  { name: "pause-and-crash", inbox: pauseAndCrash },
  { name: "three-workers", inbox: threeWorkers },
];

export function scopeNamed(name: string): ScopeDefinition {
  const found = scopes.find((scope) => scope.name === name);
  if (!found) throw new Error(`expected one of ${scopes.map((scope) => scope.name).join(", ")}, got ${name}`);
  return found;
}

export interface ExploredProducts extends Disposable {
  create(definition: ScopeDefinition): Scope;
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
  return {
    create: ({ name, inbox }) => inboxScope({ name, parts: loaded.module, ...inbox }),
    [Symbol.dispose]: loaded[Symbol.dispose],
  };
}
