import { parseArgs } from "node:util";
import { didYouMean } from "../did-you-mean.ts";
import { UsageError } from "./command-error.ts";

/** One flag of a command: its parser and its line in the help text. */
export interface Flag<Value> {
  /** What the help text shows after the name, such as `<n>`. A flag without a placeholder is a switch. */
  readonly placeholder?: string;
  readonly about: string;
  /** @param name the flag as it is typed, for messages. @param texts the values given, in order */
  parse(name: string, texts: readonly string[]): Value;
}

/** Flags by camelCase name; `timeoutMs` is typed as `--timeout-ms`. */
export type FlagTable = Readonly<Record<string, Flag<unknown>>>;

export type FlagValues<Table extends FlagTable> = {
  readonly [Name in keyof Table]: Table[Name] extends Flag<infer Value> ? Value : never;
};

export interface ParsedArguments<Table extends FlagTable> {
  readonly flags: FlagValues<Table>;
  readonly positionals: readonly string[];
  /** What follows `--`. */
  readonly rest: readonly string[];
}

export const flagName = (name: string) =>
  `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;

export const helpFlag = toggle("show this help");

interface OneValue<Value, Fallback> {
  /** Returns `undefined` for a text that the flag does not accept. */
  readonly parse: (text: string) => Value | undefined;
  /** What is accepted, for messages. */
  readonly expected: string;
  /** Near names are suggested from these. */
  readonly known?: readonly string[];
  /** How a rejected text is shown, such as without a password. */
  readonly show?: ((text: string) => string) | undefined;
  /** The value without the flag; the help text shows it. */
  readonly fallback?: Fallback | undefined;
}

/** A flag with one value; the last one given counts. */
export function flag<Value, Fallback = undefined>(
  placeholder: string,
  about: string,
  { parse, expected, known = [], show = (rejected) => rejected, fallback }: OneValue<Value, Fallback>,
): Flag<Value | Fallback> {
  return {
    placeholder,
    about: fallback === undefined ? about : `${about} (${fallback})`,
    parse(name, texts) {
      const last = texts.at(-1);
      if (last === undefined) return fallback as Fallback;
      const value = parse(last);
      if (value !== undefined) return value;
      const hint = didYouMean(last, known);
      throw new UsageError(`${name}: expected ${expected}, got ${JSON.stringify(show(last))}${hint}`);
    },
  };
}

export function text<Fallback extends string | undefined = undefined>(
  placeholder: string,
  about: string,
  fallback?: Fallback,
): Flag<string | Fallback> {
  return flag(placeholder, about, { parse: (value) => value, expected: "text", fallback });
}

export function wholeNumber<Fallback extends number | undefined = undefined>(
  about: string,
  {
    min,
    max,
    fallback,
  }: { readonly min: number; readonly max: number; readonly fallback?: Fallback | undefined },
): Flag<number | Fallback> {
  const parse = (value: string) => {
    const number = /^\d{1,16}$/.test(value) ? Number(value) : Number.NaN;
    return number >= min && number <= max ? number : undefined;
  };
  const expected = `a whole number from ${min} to ${max}`;
  return flag("<n>", about, { parse, expected, fallback });
}

export function choice<const Choice extends string, Fallback extends Choice | undefined = undefined>(
  choices: readonly Choice[],
  about: string,
  fallback?: Fallback,
): Flag<Choice | Fallback> {
  const parse = (value: string) => choices.find((each) => each === value);
  const expected = choices.join(" or ");
  return flag(`<${choices.join("|")}>`, about, { parse, expected, known: choices, fallback });
}

const anyText = { accepts: () => true, expected: "text" };

/** A flag that may be repeated; each value may hold several, separated by commas. */
export function list(
  placeholder: string,
  about: string,
  items: { readonly accepts: (item: string) => boolean; readonly expected: string } = anyText,
): Flag<readonly string[]> {
  return {
    placeholder,
    about,
    parse(name, texts) {
      const given = texts.flatMap((value) => value.split(",")).filter((value) => value !== "");
      const wrong = given.find((item) => !items.accepts(item));
      if (wrong === undefined) return given;
      throw new UsageError(`${name}: expected ${items.expected}, got ${JSON.stringify(wrong)}`);
    },
  };
}

/** A flag that may be repeated, with one value each time. */
export function repeated(placeholder: string, about: string): Flag<readonly string[]> {
  return { placeholder, about, parse: (_, texts) => texts };
}

export function toggle(about: string): Flag<boolean> {
  return { about, parse: (_, texts) => texts.length > 0 };
}

/** @throws {UsageError} for an unknown flag, a missing value or a value that its flag rejects */
export function parseFlags<Table extends FlagTable>(
  argv: readonly string[],
  table: Table,
): ParsedArguments<Table> {
  const names = Object.keys(table);
  const { values, positionals, tokens } = parse(argv, table);
  const end = tokens.find(({ kind }) => kind === "option-terminator")?.index ?? argv.length;
  const before = tokens.filter(({ kind, index }) => kind === "positional" && index < end).length;
  const flags = names.map((name) => {
    const typed = flagName(name);
    return [name, table[name]?.parse(typed, (values[typed.slice(2)] ?? []).map(String))];
  });
  return {
    flags: Object.fromEntries(flags) as FlagValues<Table>,
    positionals: positionals.slice(0, before),
    rest: positionals.slice(before),
  };
}

function parse(argv: readonly string[], table: FlagTable) {
  const options = Object.entries(table).map(([name, { placeholder }]) => {
    const type: "boolean" | "string" = placeholder === undefined ? "boolean" : "string";
    return [flagName(name).slice(2), { type, multiple: true as const }] as const;
  });
  try {
    return parseArgs({
      args: [...argv],
      options: Object.fromEntries(options),
      allowPositionals: true,
      tokens: true,
    });
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (!code?.startsWith("ERR_PARSE_ARGS_")) throw error;
    if (code !== "ERR_PARSE_ARGS_UNKNOWN_OPTION") throw new UsageError(message);
    const unknown = /'(-[^']*)'/.exec(message)?.[1] ?? "";
    const hint = didYouMean(unknown, Object.keys(table).map(flagName));
    throw new UsageError(`unknown flag ${unknown}${hint}`);
  }
}
