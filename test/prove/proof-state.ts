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
  /** The seeds that have run, ascending, with a gap between each two. */
  spans: readonly SeedSpan[];
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

/** Folders with a file for each part. */
export interface ProofFolders {
  /** Of this machine. The names of the files have the hash of the sources. */
  readonly kept: string;
  /** In the repository, so that another machine continues what was recorded. */
  readonly recorded: string;
}

export const proofFolders: ProofFolders = {
  kept: join(root, ".tmp/prove"),
  recorded: join(root, "test/prove/recorded"),
};

interface PartState extends Partial<ProofState> {
  readonly origin: Origin;
}

/** What earlier runs on the same sources have done. */
export function openState({ fresh }: { readonly fresh: boolean }, folders = proofFolders): ProofState {
  mkdirSync(folders.kept, { recursive: true });
  const now = new Date().toISOString();
  const begun = Object.fromEntries(
    proofParts.map((part) => [part, { ...sourcesOf(part), startedAt: now, continuedAt: now }]),
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
    seeds: { spans: [], deliveries: 0, faults: {}, failures: [] },
  };
  for (const part of fresh ? [] : proofParts) {
    const kept = latestOf(part, begun[part], folders);
    if (!kept) continue;
    const { startedAt, continuedAt } = kept.origin;
    begun[part] = { ...begun[part], startedAt, continuedAt };
    for (const field of fieldsOf[part]) state[field] = kept[field];
  }
  return state as unknown as ProofState;
}

function latestOf(part: ProofPart, sources: SourceState, folders: ProofFolders): PartState | undefined {
  const kept = readJson(keptPath(part, sources, folders)) as PartState | undefined;
  const recorded = readJson(recordedPath(part, folders)) as PartState | undefined;
  if (recorded?.origin.hash !== sources.hash) return kept;
  return kept && kept.origin.continuedAt >= recorded.origin.continuedAt ? kept : continuable(recorded);
}

/** The states of a scope that is not complete are on the machine that explored it. */
function continuable({ scopes, ...rest }: PartState): PartState {
  if (!scopes) return rest;
  const complete = Object.entries(scopes).filter(([, { isComplete }]) => isComplete);
  return { ...rest, scopes: Object.fromEntries(complete) };
}

export function saveState(state: ProofState, part: ProofPart, folders = proofFolders): void {
  const origin = { ...state.origins[part], continuedAt: new Date().toISOString() };
  state.origins[part] = origin;
  writeFileSync(keptPath(part, origin, folders), JSON.stringify(partOf(state, part)));
}

export function recordState(state: ProofState, part: ProofPart, folders = proofFolders): void {
  mkdirSync(folders.recorded, { recursive: true });
  writeFileSync(recordedPath(part, folders), `${JSON.stringify(partOf(state, part), null, 2)}\n`);
}

function partOf(state: ProofState, part: ProofPart): PartState {
  const fields = fieldsOf[part].map((field) => [field, state[field]]);
  return { origin: state.origins[part], ...Object.fromEntries(fields) };
}

const keptPath = (part: ProofPart, { hash }: SourceState, { kept }: ProofFolders) =>
  join(kept, `${part}-${hash}.json`);
const recordedPath = (part: ProofPart, { recorded }: ProofFolders) => join(recorded, `${part}.json`);

export function readJson(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, "utf8")) ?? undefined;
  } catch {
    return undefined; // there is none yet
  }
}

/** The next seeds, of those not in `taken`, which is ascending with a gap between each two. */
export function nextSeeds(taken: readonly SeedSpan[], first: number, count: number): SeedSpan {
  let from = first;
  for (const span of taken) {
    if (span.from > from) return { from, to: Math.min(span.from, from + count) };
    from = Math.max(from, span.to);
  }
  return { from, to: from + count };
}

/** Ascending, with a gap between each two. */
export function unionOf(spans: readonly SeedSpan[]): readonly SeedSpan[] {
  const union: SeedSpan[] = [];
  for (const { from, to } of spans.toSorted((a, b) => a.from - b.from)) {
    const last = union.at(-1);
    if (last && from <= last.to) union[union.length - 1] = { from: last.from, to: Math.max(last.to, to) };
    else union.push({ from, to });
  }
  return union;
}

export const seedCount = ({ spans }: SeedResult): number =>
  spans.reduce((sum, { from, to }) => sum + to - from, 0);
