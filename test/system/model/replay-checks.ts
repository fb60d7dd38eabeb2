// Which transitions of the model are replayed on which inbox.

import { printTransitions } from "./check-model.ts";
import { replay } from "./replay.ts";
import type { ReplayedStore } from "./replayed-stores.ts";
import { coveringRuns, type ModelBounds, parseTransitions, type Transition } from "./transitions.ts";

const small: ModelBounds = { KEYS: 1, ROWS: 2, CLAIMS: 2, ATTEMPTS: 2, LEASE: 1, RETRY: 1 };

/** From small to large. With two keys, their rows are also settled in one shared transaction. */
export const replayedBounds: readonly ModelBounds[] = [
  small,
  { ...small, KEYS: 2 },
  { ...small, CLAIMS: 3 },
  { ...small, CLAIMS: 3, LEASE: 2 },
  { ...small, ROWS: 3 },
  { ...small, KEYS: 2, CLAIMS: 4 },
];

export interface Replayed {
  readonly transitions: number;
  /** Those that were replayed; fewer when there was no time for all. */
  readonly covered: number;
  readonly calls: number;
  readonly difference: string | undefined;
}

interface Limits {
  /** Of all runs only as many, evenly chosen, as make so many calls. */
  readonly callsMax?: number | undefined;
  readonly budgetMs?: number | undefined;
}

const printed = new Map<ModelBounds, Promise<string>>();

/** SPIN generates them once per process. */
async function transitionsOf(bounds: ModelBounds): Promise<readonly Transition[]> {
  const text = printed.get(bounds) ?? printTransitions({ model: "calls", bounds: { ...bounds } });
  printed.set(bounds, text);
  return parseTransitions(await text);
}

/** Replays the transitions of the model on an inbox until one differs. */
export async function replayAll(
  store: ReplayedStore,
  bounds: ModelBounds,
  { callsMax = Number.POSITIVE_INFINITY, budgetMs = Number.POSITIVE_INFINITY }: Limits = {},
): Promise<Replayed> {
  const transitions = await transitionsOf(bounds);
  const runs = [...coveringRuns(transitions)];
  const callsOfAll = runs.reduce((sum, run) => sum + run.length, 0);
  const step = Math.max(1, Math.ceil(callsOfAll / callsMax));
  const covered = new Set<object>();
  const endMs = performance.now() + budgetMs;
  let calls = 0;
  const result = (difference: string | undefined): Replayed => ({
    ...{ transitions: transitions.length, covered: covered.size, calls, difference },
  });
  for (const [index, run] of runs.entries()) {
    if (index % step !== 0) continue;
    if (performance.now() > endMs) break;
    const difference = await replay(store, run, bounds);
    if (difference !== undefined) return result(difference);
    calls += run.length;
    for (const transition of run) covered.add(transition);
  }
  return result(undefined);
}
