/** A stream as far as its layout depends on it. */
export interface TextStream {
  /** Columns of the terminal; absent when the stream is none. */
  readonly columns?: number | undefined;
}

const proseColumnsMax = 80;

/** Columns for lines and tables: without a terminal there is no limit, as programs read them. */
export const lineWidth = ({ columns }: TextStream): number =>
  // A pseudo-terminal that was not given a size says 0.
  columns === undefined ? Number.POSITIVE_INFINITY : columns || proseColumnsMax;

/** Columns for sentences: at most 80. */
export const proseWidth = (stream: TextStream): number => Math.min(lineWidth(stream), proseColumnsMax);

const codes = { bold: 1, dim: 2, bad: 31, good: 32, warning: 33, info: 36 } as const;

export type Tone = keyof typeof codes;
export type Paint = (text: string, tone: Tone) => string;

interface ColorSource {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly isTTY?: boolean | undefined;
}

/** Colours on a terminal, unless `NO_COLOR` is set or the terminal is `dumb`. */
export const usesColor = ({ env, isTTY }: ColorSource): boolean =>
  isTTY === true && !env["NO_COLOR"] && env["TERM"] !== "dumb";

export const painter =
  (color: boolean): Paint =>
  (text, tone) =>
    color && text !== "" ? `\u001b[${codes[tone]}m${text}\u001b[0m` : text;
