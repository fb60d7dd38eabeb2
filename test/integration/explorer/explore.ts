// Runs a scope through all of its schedules, breadth first, so that the first violation has a shortest schedule.
//
// STATELESS. A state is reached by running its schedule again from the start: promises and closures of the code under
// test cannot be copied. A schedule is a list of choices; given the same choices, a run is the same.
//
// DEDUPLICATED. Two schedules that end in states with equal fingerprints have the same future, so only the first is
// continued. `isDeduplicated: false` turns this off; a test compares the results of both.
//
// PROGRESS. Edges without faults are kept. When all states are known, each must reach an end by such edges alone: a
// state that does not is a deadlock or a livelock.

import { createHash } from "node:crypto";

export interface Choice {
  readonly label: string;
  /** Something that need not happen: a crash, a pause, a failure. */
  readonly isFault: boolean;
}

/** One run of the code under test, which stops at each choice. */
export interface Execution {
  /** In a fixed order. None: the run has ended. */
  choices(): readonly Choice[];
  take(label: string): Promise<void>;
  /** Equal for states with equal futures. */
  fingerprint(): string;
  /** What is wrong with this state; with one that has ended, also what is missing. */
  violation(): string | undefined;
  /** What happened, in words. */
  readonly story: readonly string[];
}

export interface Scope {
  readonly name: string;
  start(): Promise<Execution>;
}

export interface Counterexample {
  readonly violation: string;
  readonly schedule: readonly string[];
  readonly story: readonly string[];
}

export interface Exploration {
  readonly scope: string;
  /** Runs from the start, one for each edge. */
  readonly schedules: number;
  readonly states: number;
  /** States in which a run ends. */
  readonly ends: number;
  readonly fingerprintsOfEnds: ReadonlySet<string>;
  readonly depth: number;
  readonly elapsedMs: number;
  /** No state is left to be continued. */
  readonly isComplete: boolean;
  readonly counterexample: Counterexample | undefined;
}

export interface ExploreOptions {
  /** In milliseconds of real time. Default: none. */
  readonly budgetMs?: number | undefined;
  readonly isDeduplicated?: boolean | undefined;
}

export async function explore(scope: Scope, options: ExploreOptions = {}): Promise<Exploration> {
  const { budgetMs = Number.POSITIVE_INFINITY, isDeduplicated = true } = options;
  const graph = createGraph(isDeduplicated);
  const startedMs = performance.now();
  const elapsedMs = () => performance.now() - startedMs;
  let schedules = 0;
  let next = 0;
  let counterexample: Counterexample | undefined;
  /** Choices of states that are not continued yet. */
  const waiting = new Map<number, readonly Choice[]>();

  const visit = async (parent: number, choice: Choice | undefined): Promise<void> => {
    const schedule = parent < 0 ? [] : graph.schedule(parent);
    const execution = await replay(scope, choice ? [...schedule, choice.label] : schedule);
    schedules += 1;
    const violation = execution.violation();
    if (violation !== undefined) {
      const full = choice ? [...schedule, choice.label] : schedule;
      counterexample = { violation, schedule: full, story: execution.story };
    } else {
      const choices = execution.choices();
      const isEnd = choices.length === 0;
      const added = graph.add(parent, choice, { fingerprint: hash(execution.fingerprint()), isEnd });
      if (added !== undefined && !isEnd) waiting.set(added, choices);
    }
  };

  await visit(-1, undefined);
  while (next < graph.size && !counterexample && elapsedMs() < budgetMs) {
    if (!graph.isEnd(next)) {
      const choices = waiting.get(next) ?? [];
      waiting.delete(next);
      for (const choice of choices) {
        await visit(next, choice);
        if (counterexample) break;
      }
    }
    next += 1;
  }
  const isComplete = next >= graph.size;
  if (isComplete && !counterexample) counterexample = await findStuck(scope, graph);
  return {
    scope: scope.name,
    schedules,
    states: graph.size,
    ends: graph.ends,
    depth: graph.depth(),
    fingerprintsOfEnds: graph.fingerprintsOfEnds(),
    elapsedMs: elapsedMs(),
    isComplete,
    counterexample,
  };
}

/** Runs one schedule from the start. */
async function replay(scope: Scope, schedule: readonly string[]): Promise<Execution> {
  const execution = await scope.start();
  for (const label of schedule) {
    if (!execution.choices().some((choice) => choice.label === label)) {
      const found = execution.choices().map((choice) => choice.label);
      throw new Error(`${scope.name}: expected the choice ${label}, found ${found.join(", ") || "none"}`);
    }
    await execution.take(label);
  }
  return execution;
}

async function findStuck(scope: Scope, graph: Graph): Promise<Counterexample | undefined> {
  const stuck = graph.firstWithoutEnd();
  if (stuck === undefined) return undefined;
  const schedule = graph.schedule(stuck);
  const { story } = await replay(scope, schedule);
  return { violation: "I5: no schedule without faults leads from here to an end", schedule, story };
}

type Graph = ReturnType<typeof createGraph>;

function createGraph(isDeduplicated: boolean) {
  const labels: string[] = [];
  const labelIds = new Map<string, number>();
  const parents: number[] = [];
  const via: number[] = [];
  const fingerprints = new Map<string, number>();
  const ends = new Set<number>();
  /** Pairs of states. */
  const edges: number[] = [];

  const idOf = (label: string) => {
    const known = labelIds.get(label) ?? labels.push(label) - 1;
    labelIds.set(label, known);
    return known;
  };
  const schedule = (state: number): readonly string[] => {
    const path: string[] = [];
    for (let at = state; (parents[at] ?? -1) >= 0; at = parents[at]!) path.push(labels[via[at]!]!);
    return path.reverse();
  };
  return {
    schedule,
    get size() {
      return parents.length;
    },
    get ends() {
      return ends.size;
    },
    fingerprintsOfEnds: (): ReadonlySet<string> => {
      const found = [...fingerprints].filter(([, state]) => ends.has(state));
      return new Set(found.map(([fingerprint]) => fingerprint.split("/")[0] ?? ""));
    },
    isEnd: (state: number) => ends.has(state),
    depth: () => (parents.length === 0 ? 0 : schedule(parents.length - 1).length),
    add(
      parent: number,
      choice: Choice | undefined,
      { fingerprint, isEnd }: { readonly fingerprint: string; readonly isEnd: boolean },
    ): number | undefined {
      const name = isDeduplicated ? fingerprint : `${fingerprint}/${parents.length}`;
      const known = fingerprints.get(name);
      const state = known ?? parents.length;
      if (choice && !choice.isFault) edges.push(parent, state);
      if (known !== undefined) return undefined;
      fingerprints.set(name, state);
      parents.push(parent);
      via.push(choice ? idOf(choice.label) : 0);
      if (isEnd) ends.add(state);
      return state;
    },

    firstWithoutEnd(): number | undefined {
      const before = new Map<number, number[]>();
      for (let at = 0; at < edges.length; at += 2) {
        const from = before.get(edges[at + 1]!);
        if (from) from.push(edges[at]!);
        else before.set(edges[at + 1]!, [edges[at]!]);
      }
      const reached = new Set(ends);
      const waiting = [...ends];
      for (let state = waiting.pop(); state !== undefined; state = waiting.pop()) {
        for (const from of before.get(state) ?? []) {
          if (reached.has(from)) continue;
          reached.add(from);
          waiting.push(from);
        }
      }
      const stuck = parents.findIndex((_, state) => !reached.has(state));
      return stuck < 0 ? undefined : stuck;
    },
  };
}

/** What was explored, in one line. */
export function summary({
  scope,
  schedules,
  states,
  ends,
  depth,
  elapsedMs,
  isComplete,
}: Exploration): string {
  const seconds = (elapsedMs / 1_000).toFixed(1);
  const all = isComplete ? "all of them" : "not all of them";
  return `${scope}: ${schedules} schedules, ${states} states, ${all}, ${ends} ends, depth ${depth}, ${seconds} s`;
}

/** A counterexample as a numbered story. */
export function tell({ violation, story }: Counterexample): string {
  const steps = story.map((step, index) => `  ${index + 1}. ${step}`);
  return [...steps, `  → ${violation}`].join("\n");
}

const hash = (text: string) => createHash("sha256").update(text).digest("base64url").slice(0, 16);
