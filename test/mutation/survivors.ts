/** What is read of Stryker's report. */
export interface StrykerReport {
  readonly files: Readonly<Record<string, { readonly mutants: readonly StrykerMutant[] }>>;
}

interface Position {
  readonly line: number;
  readonly column: number;
}

export interface StrykerMutant {
  readonly mutatorName: string;
  readonly replacement: string;
  readonly status: string;
  readonly location: { readonly start: Position; readonly end: Position };
}

/** A change that no test notices. Named by text, not by line, so that it stays the same when lines are added. */
export interface Survivor {
  /** The line on which it begins. */
  readonly line: string;
  readonly from: string;
  readonly to: string;
}

export interface FileResult {
  readonly path: string;
  readonly total: number;
  readonly found: number;
  readonly survivors: readonly Survivor[];
}

/** By path, then by reason. */
export type KnownSurvivors = Readonly<Record<string, Readonly<Record<string, readonly Survivor[]>>>>;

const isLeft = ({ status }: StrykerMutant) => status === "Survived" || status === "NoCoverage";

export function readReport(path: string, source: string, all: readonly StrykerMutant[]): FileResult {
  const mutants = all.filter(({ status }) => status !== "Ignored");
  const left = mutants.filter(isLeft);
  return {
    path,
    total: mutants.length,
    found: mutants.length - left.length,
    survivors: left.map((each) => survivorOf(source, each)),
  };
}

function survivorOf(source: string, { location: { start, end }, replacement }: StrykerMutant): Survivor {
  const lines = source.split("\n");
  const offset = ({ line, column }: Position) =>
    lines.slice(0, line - 1).reduce((sum, each) => sum + each.length + 1, 0) + column - 1;
  const [line = ""] = lines.slice(start.line - 1);
  return { line: line.trim(), from: short(source.slice(offset(start), offset(end))), to: short(replacement) };
}

const short = (text: string) => {
  const words = text.replaceAll(/\s+/g, " ");
  return words.length > 120 ? `${words.slice(0, 119)}…` : words;
};

export interface SurvivorDifference extends Survivor {
  readonly path: string;
}

/** Survivors that are not listed, and listed ones that did not survive, of the files that were mutated. */
export function compareSurvivors(results: readonly FileResult[], known: KnownSurvivors) {
  const unknown: SurvivorDifference[] = [];
  const gone: SurvivorDifference[] = [];
  for (const { path, survivors } of results) {
    const listed = Object.values(known[path] ?? {}).flat();
    const left = listed.map((each) => JSON.stringify(each));
    for (const { line, from, to } of survivors) {
      const place = left.indexOf(JSON.stringify({ line, from, to }));
      if (place >= 0) left.splice(place, 1);
      else unknown.push({ path, line, from, to });
    }
    gone.push(...left.map((each) => ({ path, ...(JSON.parse(each) as Survivor) })));
  }
  return { unknown, gone };
}
