// What a benchmark hands back: everything that the report shows, so that the report can be written anew without
// measuring anew.

export type Goal = {
  readonly what: string;
  readonly target: string;
  readonly measured: string;
  readonly met: boolean;
};

export type Table = {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly string[])[];
};

export type Series = { readonly name: string; readonly points: readonly (readonly [number, number])[] };

/** A line chart with logarithmic axes. */
export type Plot = {
  /** Becomes the file `docs/images/benchmark-<name>.svg`. */
  readonly name: string;
  readonly title: string;
  readonly x: string;
  readonly y: string;
  readonly series: readonly Series[];
};

export type Finding = {
  readonly title: string;
  /** What is compared with what, and how. */
  readonly about: string;
  readonly goals: readonly Goal[];
  readonly tables: readonly Table[];
  readonly plots?: readonly Plot[];
  /** Why a goal is missed, why a line bends, what a number leaves out. */
  readonly notes?: readonly string[];
};

export type Machine = {
  readonly date: string;
  readonly node: string;
  readonly processor: string;
  readonly cores: number;
  /** Processes that wanted to run, on average, at the start and at the end. */
  readonly load: readonly [number, number];
  readonly quick: boolean;
};

export type Recorded = Finding & { readonly name: string; readonly machine: Machine };

export type MeasureOptions = {
  /** Fewer and shorter rounds: shows that everything runs, not how fast. */
  readonly quick: boolean;
};

/** Each file in `benchmarks/` exports one as `measure`. */
export type Measure = (options: MeasureOptions) => Promise<Finding>;
