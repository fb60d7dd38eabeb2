// Which transitions of the model are replayed.

import { printTransitions } from "./check-model.ts";
import { replay } from "./replay.ts";
import type { OpenReplayed } from "./replayed-inbox.ts";
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
  readonly difference: string | undefined;
}

const printed = new Map<ModelBounds, Promise<string>>();

/** SPIN generates them once per process. */
async function transitionsOf(bounds: ModelBounds): Promise<readonly Transition[]> {
  const text = printed.get(bounds) ?? printTransitions({ model: "calls", bounds: { ...bounds } });
  printed.set(bounds, text);
  return parseTransitions(await text);
}

/** Replays the transitions of the model on an inbox until one differs. @param budgetMs of all of them */
export async function replayAll(
  open: OpenReplayed,
  bounds: ModelBounds,
  budgetMs = Number.POSITIVE_INFINITY,
): Promise<Replayed> {
  const transitions = await transitionsOf(bounds);
  const covered = new Set<object>();
  const endMs = performance.now() + budgetMs;
  let difference: string | undefined;
  for (const run of coveringRuns(transitions)) {
    if (difference !== undefined || performance.now() > endMs) break;
    difference = await replay(open, run, bounds);
    for (const transition of run) covered.add(transition);
  }
  return { transitions: transitions.length, covered: covered.size, difference };
}
