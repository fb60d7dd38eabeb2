import type { PartResult } from "../differential/differential-part.ts";

/** What the runs of `npm run prove` on one commit have done. */
export interface ProofState {
  readonly commit: string;
  readonly startedAt: string;
  readonly mutants: Record<string, MutantResult>;
  readonly scopes: Record<string, ScopeResult>;
  readonly models: Record<string, ModelResult>;
  readonly modelMutants: Record<string, MutantResult>;
  readonly replays: Record<string, ReplayResult>;
  readonly seeds: SeedResult;
  /** By the name of the part. */
  readonly differential: Record<string, PartResult>;
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
  next: number;
  count: number;
  deliveries: number;
  faults: Readonly<Record<string, number>>;
  failure?: string;
}

export const createState = (commit: string, from: number): ProofState => ({
  ...{ commit, startedAt: new Date().toISOString(), mutants: {}, scopes: {}, models: {}, modelMutants: {} },
  ...{ replays: {}, differential: {} },
  seeds: { next: from, count: 0, deliveries: 0, faults: {} },
});
