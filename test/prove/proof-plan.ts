// Which task a free process runs next: one of the part that has had the least time. That is the next comparison, the scope
// that was explored for the shortest time, or the next seeds.

import { join } from "node:path";
import { scopes } from "../explorer/scopes.ts";
import { knownBugs } from "./find-mutants.ts";
import type { ProofPart } from "./proof-inputs.ts";
import { type PlannedTask, plan } from "./proof-processes.ts";
import {
  nextSeeds,
  type ProofState,
  proofFolders,
  type SeedSpan,
  saveState,
  unionOf,
} from "./proof-state.ts";

const sliceMs = 60_000;
/** Run by one process at a time. */
const seedsPerTask = 50;
/** With more, the rest says little. */
const failuresMax = 10;

export class ProofPlan {
  readonly #state: ProofState;
  readonly #firstSeed: number;
  readonly #wants: (part: ProofPart) => boolean;
  readonly #leftMs: () => number;
  /** Mutants and scopes that a process is at. */
  readonly #busy = new Set<string>();
  readonly #running: SeedSpan[] = [];
  readonly #spentMs = new Map<ProofPart, number>();
  #mayCompare = true;

  constructor(
    state: ProofState,
    firstSeed: number,
    wants: (part: ProofPart) => boolean,
    leftMs: () => number,
  ) {
    this.#state = state;
    this.#firstSeed = firstSeed;
    this.#wants = wants;
    this.#leftMs = leftMs;
  }

  /** Undefined when all known bugs have been tried, or when there is no time. */
  nextMutant(): PlannedTask | undefined {
    const task = this.#wants("mutants") && this.#leftMs() > 0 ? this.#mutant() : undefined;
    return task && this.#timed("mutants", task);
  }

  /** Undefined when there is nothing to do, or no time. */
  next(): PlannedTask | undefined {
    if (this.#leftMs() <= 0) return undefined;
    const parts = (["differential", "explorer", "seeds"] as const)
      .filter(this.#wants)
      .toSorted((a, b) => this.#spent(a) - this.#spent(b));
    for (const part of parts) {
      const task = this.#taskOf(part);
      if (task) return this.#timed(part, task);
    }
    return undefined;
  }

  #taskOf(part: "differential" | "explorer" | "seeds"): PlannedTask | undefined {
    if (part === "seeds") return this.#seeds();
    return part === "explorer" ? this.#scope() : this.#comparison();
  }

  #spent(part: ProofPart): number {
    return this.#spentMs.get(part) ?? 0;
  }

  /** Counts the time of the task, and saves its part when it is done. */
  #timed(part: ProofPart, { task, done }: PlannedTask): PlannedTask {
    const startedMs = performance.now();
    // Counted at once, so that two processes begin with different parts.
    this.#spentMs.set(part, this.#spent(part) + 1);
    return {
      task,
      done: (result) => {
        this.#spentMs.set(part, this.#spent(part) + performance.now() - startedMs);
        done(result);
        saveState(this.#state, part);
      },
    };
  }

  get #budgetMs(): number {
    return Math.max(1, Math.min(sliceMs, this.#leftMs()));
  }

  #mutant(): PlannedTask | undefined {
    const { mutants } = this.#state;
    const next = knownBugs.find(({ name }) => !mutants[name] && !this.#busy.has(name));
    if (!next) return undefined;
    const { name, by, bug } = next;
    this.#busy.add(name);
    return plan({ kind: "mutant", name, budgetMs: Math.max(1, this.#leftMs()) }, (counterexample) => {
      mutants[name] = { by, bug, counterexample: counterexample ?? null };
    });
  }

  #scope(): PlannedTask | undefined {
    const { scopes: explored, origins } = this.#state;
    const elapsedOf = (name: string) => explored[name]?.elapsedMs ?? 0;
    const [next] = scopes
      .filter(({ name }) => {
        const { isComplete = false, violation = null } = explored[name] ?? {};
        return !isComplete && violation === null && !this.#busy.has(name);
      })
      .sort((a, b) => elapsedOf(a.name) - elapsedOf(b.name));
    if (!next) return undefined;
    const { name } = next;
    this.#busy.add(name);
    const path = join(proofFolders.kept, `explorer-${origins.explorer.hash}-${name}.json`);
    const resumes = explored[name] !== undefined;
    return plan({ kind: "scope", name, path, resumes, budgetMs: this.#budgetMs }, (result) => {
      this.#busy.delete(name);
      explored[name] = result;
    });
  }

  #seeds(): PlannedTask | undefined {
    const { seeds } = this.#state;
    if (seeds.failures.length >= failuresMax) return undefined;
    const taken = unionOf([...seeds.spans, ...this.#running]);
    const span = nextSeeds(taken, this.#firstSeed, seedsPerTask);
    this.#running.push(span);
    return plan({ kind: "seeds", span }, (outcome) => {
      this.#running.splice(this.#running.indexOf(span), 1);
      seeds.spans = unionOf([...seeds.spans, outcome.span]);
      seeds.deliveries += outcome.deliveries;
      const faults: Record<string, number> = { ...seeds.faults };
      for (const [kind, count] of Object.entries(outcome.faults)) faults[kind] = (faults[kind] ?? 0) + count;
      seeds.faults = faults;
      const { failure } = outcome;
      if (failure !== undefined) seeds.failures.push({ seed: outcome.span.to - 1, text: failure });
    });
  }

  #comparison(): PlannedTask | undefined {
    if (!this.#mayCompare || this.#busy.has("differential")) return undefined;
    this.#busy.add("differential");
    const { differential: results } = this.#state;
    return plan({ kind: "differential", results, budgetMs: this.#budgetMs }, (outcome) => {
      this.#busy.delete("differential");
      this.#mayCompare = outcome.mayContinue;
      Object.assign(results, outcome.results);
    });
  }
}
