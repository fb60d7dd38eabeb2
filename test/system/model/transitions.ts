// The transitions of the model of all calls, as it prints them, and runs that cover each of them.

import { readFileSync } from "node:fs";
import { join } from "node:path";

export interface ModelBounds {
  readonly KEYS: number;
  readonly ROWS: number;
  readonly CLAIMS: number;
  readonly ATTEMPTS: number;
  readonly LEASE: number;
  readonly RETRY: number;
}

export interface Transition {
  readonly from: string;
  readonly call: string;
  readonly args: readonly [number, number];
  /** A name for a call that ends or renews something; the rows of a claim as bits. */
  readonly result: string | number;
  readonly to: string;
}

export interface ModelRow {
  readonly state: "absent" | "pending" | "done" | "stale" | "dead";
  readonly attempts: number;
  readonly dueTicks: number;
  readonly effects: number;
}

export interface ModelKey {
  /** The number of the claim that holds the lease; 0: none. */
  readonly claim: number;
  readonly generation: number;
  readonly held: number;
  readonly suspects: number;
  /** `null`: never. */
  readonly wakeTicks: number | null;
  readonly head: number;
}

export interface ModelState {
  readonly rows: readonly ModelRow[];
  /** `undefined`: there is no such key. */
  readonly keys: readonly (ModelKey | undefined)[];
}

/** Of `mtype` declarations; SPIN numbers them from the last one. */
const names = mtypeNames(readFileSync(join(import.meta.dirname, "inbox.pml"), "utf8"));
const never = 99;

function mtypeNames(text: string): ReadonlyMap<number, string> {
  const found = new Map<number, string>([[0, "absent"]]);
  for (const [, list] of text.matchAll(/^mtype = \{ ([^}]*) \};/gm)) {
    const words = list?.split(", ") ?? [];
    const first = found.size - 1;
    for (const [index, word] of words.entries()) found.set(first + words.length - index, word);
  }
  return found;
}

export function parseTransitions(printed: string): readonly Transition[] {
  return printed.split("\n").flatMap((line) => {
    const [from, call, result, to] = line.split("|");
    if (from === undefined || call === undefined || result === undefined || !to?.endsWith(" ")) return [];
    const [name = "", first, second] = call.split(" ");
    const value = name === "claim" ? Number(result) : (names.get(Number(result)) ?? "");
    return [{ ...{ from, to, call: name, result: value }, args: [Number(first), Number(second)] as const }];
  });
}

export function parseState(text: string, { ROWS, KEYS }: ModelBounds): ModelState {
  const numbers = text.trim().split(" ").map(Number);
  const take = (count: number) =>
    numbers.splice(0, count) as [number, number, number, number, number, number, number];
  const rows = Array.from({ length: ROWS }, (): ModelRow => {
    const [state, attempts, dueTicks, effects] = take(4);
    return { state: (names.get(state) ?? "absent") as ModelRow["state"], attempts, dueTicks, effects };
  });
  const keys = Array.from({ length: KEYS }, (): ModelKey | undefined => {
    const [id, claim, generation, claimed, suspects, wake, head] = take(7);
    const held = claimed.toString(2).replaceAll("0", "").length;
    const wakeTicks = wake === never ? null : wake;
    return id === 0 ? undefined : { claim, generation, held, suspects, wakeTicks, head };
  });
  return { rows, keys };
}

/** Runs from the first state that together contain each transition. */
export function* coveringRuns(transitions: readonly Transition[]): Generator<readonly Transition[]> {
  const first = transitions[0]?.from;
  const left = new Map<string, Transition[]>();
  for (const transition of transitions) {
    const others = left.get(transition.from);
    if (others) others.push(transition);
    else left.set(transition.from, [transition]);
  }
  // Those that stay in their state are taken on the way.
  for (const list of left.values()) list.sort((a, b) => Number(a.from === a.to) - Number(b.from === b.to));
  const { order, pathTo } = shortestPaths(left, first);
  for (const start of order) {
    while ((left.get(start)?.length ?? 0) > 0) {
      const run = pathTo(start);
      for (let state = start; ; ) {
        const next = left.get(state)?.pop();
        if (!next) break;
        run.push(next);
        state = next.to;
      }
      yield run;
    }
  }
}

function shortestPaths(outgoing: ReadonlyMap<string, readonly Transition[]>, first: string | undefined) {
  const reachedBy = new Map<string, Transition | undefined>();
  const order: string[] = [];
  if (first !== undefined) reachedBy.set(first, undefined);
  for (const state of reachedBy.keys()) {
    order.push(state);
    for (const transition of outgoing.get(state) ?? [])
      if (!reachedBy.has(transition.to)) reachedBy.set(transition.to, transition);
  }
  const pathTo = (state: string): Transition[] => {
    const path: Transition[] = [];
    for (let last = reachedBy.get(state); last; last = reachedBy.get(last.from)) path.push(last);
    return path.reverse();
  };
  return { order, pathTo };
}
