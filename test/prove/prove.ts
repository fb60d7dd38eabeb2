// `npm run prove`: bugs planted for the simulation, then every scope of the explorer, seeds of the simulation and of
// imports, and imports that are stopped at every step and pair of steps. Each part has an equal share of the time; nothing is
// kept between runs.

import { parseArgs } from "node:util";
import { explore, summary, tell } from "../integration/explorer/explore.ts";
import { loadInbox, scopeNamed, scopes } from "../integration/explorer/inbox-scope.ts";
import { runImportSeed } from "../integration/sdk/imports/import-seeds.ts";
import { clientsWithFiles, stoppedImports, stories } from "../integration/sdk/imports/import-stops.ts";
import { loadSimulation } from "../integration/simulation/bundles.ts";
import { formatFailure } from "../integration/simulation/invariants.ts";
import { mutants, productsOf } from "../integration/simulation/mutants.ts";
import { runSeeds } from "../integration/simulation/run-seeds.ts";

/** What a part is given. */
interface Proof {
  /** Time that is left for the part, in ms; 0 or less when it has none. */
  leftMs(): number;
  /** Prints what was checked; the run fails when it does not hold. */
  report(holds: boolean, text: string): void;
}

interface Options {
  readonly minutes: number;
  readonly seeds: number | undefined;
  readonly from: number;
  readonly scopes: readonly string[];
}

type Part = (proof: Proof, options: Options) => Promise<void>;

const parts = {
  async bugs({ report }) {
    for (const mutant of mutants) {
      using mutated = await productsOf(mutant);
      const { failed } = await runSeeds({ from: 1, count: seedsPerBug, products: mutated.products });
      const named = `${failed ? "found" : "NOT FOUND"}: ${mutant.name} (${mutant.bug})`;
      if (!failed) report(false, named);
      else {
        const { seed, steps, violation } = failed;
        const found = `seed ${seed}, step ${steps}: ${violation?.invariant}: ${violation?.message}`;
        report(true, `${named}\n${indented(found)}`);
      }
    }
  },
  async explorer({ leftMs, report }, { scopes: names }) {
    using explored = await loadInbox();
    for (const [index, name] of names.entries()) {
      const scope = explored.create(scopeNamed(name));
      const budgetMs = Math.max(1, leftMs() / (names.length - index));
      const exploration = await withoutStacks(() => explore(scope, { budgetMs }));
      const { counterexample } = exploration;
      const story = counterexample === undefined ? "" : `\n${tell(counterexample)}`;
      report(counterexample === undefined, summary(exploration) + story);
    }
  },
  async seeds({ leftMs, report }, { from, seeds = Number.POSITIVE_INFINITY }) {
    using simulation = await loadSimulation();
    const hasTime = () => seeds < Number.POSITIVE_INFINITY || leftMs() > 0;
    for (let done = 0; done < seeds && hasTime(); done += seedsAtOnce) {
      const range = { from: from + done, count: Math.min(seedsAtOnce, seeds - done) };
      const { failed } = await withoutStacks(() => simulation.module.runSeeds(range));
      if (failed) return report(false, formatFailure(failed));
      report(true, `seeds ${range.from} to ${range.from + range.count - 1}`);
    }
  },
  async imports({ leftMs, report }, { from, seeds = Number.POSITIVE_INFINITY }) {
    const hasTime = () => seeds < Number.POSITIVE_INFINITY || leftMs() > 0;
    let done = 0;
    for (; done < seeds && hasTime(); done++) {
      const { problems } = await runImportSeed(from + done);
      if (problems.length > 0)
        return report(false, `import of seed ${from + done}\n${indented(problems.join("\n"))}`);
    }
    report(true, `imports of seeds ${from} to ${from + done - 1}`);
  },
  async stops({ report }) {
    for (const [what, tell] of Object.entries(stories))
      for (const { clients, artifacts } of stoppedImports) {
        let count = 0;
        let undecided = 0;
        for await (const end of tell({ clients: clientsWithFiles(clients, artifacts) }, 1)) {
          count += 1;
          undecided += end.undecided;
          if (end.problems.length > 0) return report(false, indented(end.problems.join("\n")));
        }
        const text = `${clients} clients with ${artifacts} documents each: ${what} (${count} runs)`;
        report(true, `${text}, ${undecided} undecided clients`);
      }
  },
} satisfies Readonly<Record<string, Part>>;

const partNames = Object.keys(parts) as (keyof typeof parts)[];
const seedsAtOnce = 50;
/** As many as `npm test` takes at full depth. */
const seedsPerBug = 250;

const usage = `usage: npm run prove -- [--only PART,…] [--minutes 10] [--seeds N] [--from 1] [--scopes NAME,…]

  --only PARTS   of ${partNames.join(", ")}. Default: all
  --minutes N    how long to run, shared by the parts. Bugs and stops are tried to the end. Default: 10
  --seeds N      how many seeds, whatever time they take. Default: as many as there is time for
  --from N       the first seed. Default: 1
  --scopes NAMES scopes of the explorer. Default: all
`;

async function main(args: readonly string[]): Promise<number> {
  const read = readArguments(args);
  if (!read) {
    process.stderr.write(usage);
    return 2;
  }
  const { chosen, ...options } = read;
  let failures = 0;
  const report: Proof["report"] = (holds, text) => {
    if (!holds) failures += 1;
    process.stdout.write(`${text.trimEnd()}\n`);
  };
  for (const name of chosen) {
    const endMs = performance.now() + (options.minutes * 60_000) / chosen.length;
    await parts[name]({ report, leftMs: () => endMs - performance.now() }, options);
  }
  process.stdout.write(failures === 0 ? "nothing was violated\n" : `${failures} FAILED: see above\n`);
  return failures === 0 ? 0 : 1;
}

function readArguments(args: readonly string[]) {
  const string = { type: "string" } as const;
  const options = { only: string, minutes: string, seeds: string, from: string, scopes: string };
  try {
    const { values } = parseArgs({ args: [...args], options });
    const isNamed = (name: string) => values.only?.split(",").includes(name) ?? true;
    const chosen = partNames.filter(isNamed);
    const named = values.scopes?.split(",") ?? scopes.map(({ name }) => name);
    const areKnown =
      (values.only ?? chosen.join()).split(",").length === chosen.length &&
      named.every((name) => scopes.some((scope) => scope.name === name));
    const minutes = Number(values.minutes ?? 10);
    const seeds = values.seeds === undefined ? undefined : integer(values.seeds);
    const from = integer(values.from ?? "1");
    if (!areKnown || !(minutes > 0) || Number.isNaN(seeds) || !(from >= 1)) return undefined;
    return { chosen, minutes, seeds, from, scopes: named };
  } catch {
    return undefined; // an unknown option
  }
}

/** The steps of a counterexample below the line that names it. */
const indented = (text: string) => text.replaceAll(/^/gm, "    ");

/** To capture the stacks of all errors takes a tenth of the time of a seed. */
async function withoutStacks<Result>(run: () => Promise<Result>): Promise<Result> {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    return await run();
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}

const integer = (text: string) => (/^[1-9]\d{0,8}$/.test(text) ? Number(text) : Number.NaN);

process.exitCode = await main(process.argv.slice(2));
