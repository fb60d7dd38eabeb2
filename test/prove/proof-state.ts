import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { PartResult } from "../differential/differential-part.ts";
import { type ProofPart, proofParts, root, type SourceState, sourcesOf } from "./proof-inputs.ts";

/** What the runs of `npm run prove` on equal sources have done. */
export interface ProofState {
  readonly origins: Record<ProofPart, Origin>;
  readonly mutants: Record<string, MutantResult>;
  readonly scopes: Record<string, ScopeResult>;
  readonly models: Record<string, ModelResult>;
  readonly modelMutants: Record<string, MutantResult>;
  readonly replays: Record<string, ReplayResult>;
  readonly seeds: SeedResult;
  /** By the name of the part. */
  readonly differential: Record<string, PartResult>;
}

/** The sources of a part, and when it ran. */
export interface Origin extends SourceState {
  readonly startedAt: string;
  readonly continuedAt: string;
}

export interface MutantResult {
  /** What found it. */
  readonly by: string;
  readonly bug: string;
  /** `null`: it was not found. */
  readonly counterexample: string | null;
}

export interface ScopeResult {
  readonly schedules: number;
  readonly states: number;
  readonly ends: number;
  readonly depth: number;
  readonly elapsedMs: number;
  readonly isComplete: boolean;
  readonly violation: string | null;
}

export interface ModelResult {
  readonly states: number;
  readonly transitions: number;
  readonly depth: number;
  readonly elapsedMs: number;
  readonly violation: string | null;
}

/** Transitions of the model that were replayed on an inbox. */
export interface ReplayResult {
  readonly transitions: number;
  readonly covered: number;
  readonly calls: number;
  readonly difference: string | null;
}

export interface SeedResult {
  /** All seeds from `first` to before this one have run. */
  readonly first: number;
  next: number;
  /** Those beyond that have run: another process has not finished what is before them. */
  ahead: readonly SeedSpan[];
  count: number;
  deliveries: number;
  faults: Readonly<Record<string, number>>;
  /** Seeds that violated an invariant. */
  readonly failures: { readonly seed: number; readonly text: string }[];
}

/** `to` is not included. */
export interface SeedSpan {
  readonly from: number;
  readonly to: number;
}

const fieldsOf: Readonly<Record<ProofPart, readonly (keyof ProofState)[]>> = {
  mutants: ["mutants"],
  model: ["models", "modelMutants", "replays"],
  explorer: ["scopes"],
  seeds: ["seeds"],
  differential: ["differential"],
};

/** A folder with a file for each part, named after the hash of its sources. */
export const proofFolder = join(root, ".tmp/prove");

const pathOf = (part: ProofPart, { hash }: SourceState) => join(proofFolder, `${part}-${hash}.json`);

/** What earlier runs on the same sources have done. */
export function openState({ from, fresh }: { readonly from: number; readonly fresh: boolean }): ProofState {
  mkdirSync(proofFolder, { recursive: true });
  const continuedAt = new Date().toISOString();
  const begun = Object.fromEntries(
    proofParts.map((part) => [part, { ...sourcesOf(part), startedAt: continuedAt, continuedAt }]),
  ) as Record<ProofPart, Origin>;
  const state: Record<string, unknown> = {
    ...{
      origins: begun,
      mutants: {},
      scopes: {},
      models: {},
      modelMutants: {},
      replays: {},
      differential: {},
    },
    seeds: { first: from, next: from, ahead: [], count: 0, deliveries: 0, faults: {}, failures: [] },
  };
  for (const part of fresh ? [] : proofParts) {
    const kept = readJson(pathOf(part, begun[part])) as
      | (ProofState & { readonly origin: Origin })
      | undefined;
    if (!kept) continue;
    begun[part] = { ...begun[part], startedAt: kept.origin.startedAt };
    for (const field of fieldsOf[part]) state[field] = kept[field];
  }
  return state as unknown as ProofState;
}

export function saveState(state: ProofState, part: ProofPart): void {
  const fields = fieldsOf[part].map((field) => [field, state[field]]);
  const origin = { ...state.origins[part], continuedAt: new Date().toISOString() };
  state.origins[part] = origin;
  writeFileSync(pathOf(part, origin), JSON.stringify({ origin, ...Object.fromEntries(fields) }));
}

export function readJson(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, "utf8")) ?? undefined;
  } catch {
    return undefined; // there is none yet
  }
}

/** The next seeds that have not run and that no process runs. */
export function nextSeeds(seeds: SeedResult, running: readonly SeedSpan[], count: number): SeedSpan {
  const taken = [...seeds.ahead, ...running].toSorted((a, b) => a.from - b.from);
  let from = seeds.next;
  for (const span of taken) {
    if (span.from > from) return { from, to: Math.min(span.from, from + count) };
    from = Math.max(from, span.to);
  }
  return { from, to: from + count };
}

/** These seeds have run. */
export function markRun(seeds: SeedResult, span: SeedSpan): void {
  seeds.count += span.to - span.from;
  const left: SeedSpan[] = [];
  for (const each of [...seeds.ahead, span].toSorted((a, b) => a.from - b.from)) {
    if (each.from <= seeds.next) seeds.next = Math.max(seeds.next, each.to);
    else left.push(each);
  }
  seeds.ahead = left;
}
