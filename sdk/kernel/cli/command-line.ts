// What the commands of the mock server and of the receiver kit share. Only their cli/ folders and bin/ import it.

import { createInterface } from "node:readline/promises";
import { parseArgs } from "node:util";
import { didYouMean } from "../did-you-mean.ts";
import { lineWidth, proseWidth, reflow, type TextStream, wrapBehind, wrapLines } from "../layout.ts";
import { isError } from "../realm.ts";
import { visibleLines } from "../visible.ts";

/** The process as a command sees it; tests pass their own. */
export interface CommandIo {
  /** The name that the user types first. */
  readonly program: string;
  readonly stdout: TextStream & {
    write(text: string): unknown;
    readonly writableLength?: number | undefined;
  };
  readonly stderr: TextStream & { write(text: string): unknown; readonly isTTY?: boolean | undefined };
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Whether stdout is a terminal. */
  readonly isTTY?: boolean | undefined;
  /** Asks the user and returns the text of the line; absent when no terminal can be read. */
  readonly ask?: ((question: string) => Promise<string>) | undefined;
  /** Aborted with the name of the signal on SIGINT and SIGTERM, and with `parent ended` under npm. */
  readonly stop: AbortSignal;
  /** Aborted when the reader of stdout is gone, which is seen at the next output. */
  readonly unread?: AbortSignal | undefined;
  /** What a second signal writes to stderr before it ends the process. A later call replaces an earlier one. */
  readonly onKill?: ((text: () => string) => void) | undefined;
  /** Ends the process after this time, also while a reader has not read all output. */
  readonly endsUnread?: ((afterMs: number) => unknown) | undefined;
}

interface Command<Table extends FlagTable> {
  /** What follows the program, such as `mock exec`. */
  readonly name: string;
  /** What follows the name in the first line of the help text. */
  readonly synopsis: string;
  readonly about: string;
  /** Arguments that are not flags, for the help text. */
  readonly parameters?: readonly HelpRow[] | undefined;
  readonly flags: Table;
  /** Printed after the flags: exit codes, at least. */
  readonly notes: string;
  /** Exit code of a failure, also of an unexpected one; 2 where 1 is a result. Default 1. */
  readonly failureCode?: 1 | 2 | undefined;
  run(args: ParsedArguments<Table>, io: CommandIo): Promise<number>;
}

/** Runs a command with the arguments after its name, and returns the exit code. */
export type RunCommand = (argv: readonly string[], io: CommandIo) => Promise<number>;

/** The command as a function. A failure prints one sentence; of an unexpected one, the stack on request. */
export const defineCommand =
  <Table extends FlagTable>(command: Command<Table>): RunCommand =>
  async (argv, io) => {
    try {
      if (asksForHelp(argv)) return write(io, helpOf(command, io.program, proseWidth(io.stdout)));
      return await command.run(parseFlags(argv, command.flags), io);
    } catch (error) {
      return report(error, command, io);
    }
  };

export interface Subcommand {
  readonly about: string;
  readonly run: RunCommand;
}

interface CommandGroup {
  /** What follows the program; empty for the program itself. */
  readonly name: string;
  readonly about?: string | undefined;
  readonly subcommands: Readonly<Record<string, Subcommand>>;
  /** Further lines of the help text. */
  readonly flags?: readonly HelpRow[] | undefined;
}

/** Runs the subcommand that the first argument names. */
export async function runCommandGroup(
  group: CommandGroup,
  [name, ...argv]: readonly string[],
  io: CommandIo,
): Promise<number> {
  const { subcommands } = group;
  if (name === undefined) {
    io.stderr.write(groupHelpOf(group, io.program, proseWidth(io.stderr)));
    return 2;
  }
  if (name === "help" && argv.length > 0) return runCommandGroup(group, [...argv, "--help"], io);
  if (name === "help" || asksForHelp([name]))
    return write(io, groupHelpOf(group, io.program, proseWidth(io.stdout)));
  const subcommand = Object.hasOwn(subcommands, name) ? subcommands[name] : undefined;
  if (subcommand) return subcommand.run(argv, io);
  const known = Object.keys(subcommands);
  const expected = `expected ${known.join(", ")}, got ${JSON.stringify(name)}${didYouMean(name, known)}`;
  return report(new UsageError(expected), group, io);
}

/** The only argument besides flags. @param what for the message, such as `one URL` */
export function onlyArgument({ positionals, rest }: Arguments, what: string): string {
  const [argument, ...others] = [...positionals, ...rest];
  if (argument === undefined || others.length > 0) {
    const got = argument === undefined ? "none" : JSON.stringify([argument, ...others].join(" "));
    throw new UsageError(`expected ${what}, got ${got}`);
  }
  return argument;
}

/** @param expected for the message. @param known near names are suggested from these */
export function noArgument(
  { positionals, rest }: Arguments,
  expected = "flags only",
  known: readonly string[] = [],
): void {
  const [argument] = [...positionals, ...rest];
  if (argument === undefined) return;
  throw new UsageError(`expected ${expected}, got ${JSON.stringify(argument)}${didYouMean(argument, known)}`);
}

type Arguments = Pick<ParsedArguments<FlagTable>, "positionals" | "rest">;

/** Writes to stdout, or to stderr, wrapped at the width of the terminal; returns the exit code of success. */
export function write(io: CommandIo, text: string, output: Output = io.stdout): 0 {
  output.write(wrapLines(text, lineWidth(output)));
  return 0;
}

type Output = CommandIo["stdout"] | CommandIo["stderr"];

/** Writes to stdout what programs read, such as JSON. */
export function writeData(io: CommandIo, text: string): 0 {
  io.stdout.write(text);
  return 0;
}

/**
 * Writes a line to stderr, after what the user typed. Further lines are indented, so that no text of others looks like another
 * notice. @param name of the command; empty for the program itself
 */
export function writeNotice({ program, stderr }: CommandIo, name: string, message: string): void {
  const text = visibleLines(message).replaceAll("\n", "\n  ");
  stderr.write(`${wrapLines(`${fullName(program, name)}: ${text}`, lineWidth(stderr))}\n`);
}

const fullName = (program: string, name: string) => [program, name].filter(Boolean).join(" ");

export const toJson = (value: unknown) => `${JSON.stringify(value, null, 2)}\n`;

function asksForHelp(argv: readonly string[]): boolean {
  const own = argv.includes("--") ? argv.slice(0, argv.indexOf("--")) : argv;
  return own.includes("--help") || own.includes("-h");
}

function report(
  error: unknown,
  { name, failureCode = 1 }: Pick<Command<FlagTable>, "name" | "failureCode">,
  io: CommandIo,
): number {
  if (error instanceof CommandError) writeNotice(io, name, error.message);
  else writeUnexpected(io, name, error);
  if (error instanceof UsageError) io.stderr.write(`Try ${fullName(io.program, name)} --help\n`);
  return (error instanceof CommandError ? error.exitCode : undefined) ?? failureCode;
}

/** One sentence, or the stack where the environment asks for it. */
export function writeUnexpected(io: CommandIo, name: string, error: unknown): void {
  const { stack, message } = isError(error) ? error : new Error(String(error));
  writeNotice(io, name, String(io.env["WORKSPACE_TASKS_DEBUG"] ? stack : message));
}

function helpOf(
  { name, synopsis, about, parameters, flags, notes }: Command<FlagTable>,
  program: string,
  width: number,
): string {
  const rows = [...(parameters ?? []), ...flagRows({ ...flags, help: helpFlag })];
  const usage = wrapLines(`Usage: ${program} ${name} ${synopsis}`, width, 7);
  return `${usage}\n\n${reflow(about, width)}\n\n${helpRows(rows, width)}\n${reflow(notes, width)}\n`;
}

function groupHelpOf(
  { name, about, subcommands, flags = [] }: CommandGroup,
  program: string,
  width: number,
): string {
  const rows: readonly HelpRow[] = Object.entries(subcommands).map(([each, command]) => [
    each,
    command.about,
  ]);
  const all = [...rows, ...flags, ["--help", "show this help; every command has its own"] as const];
  const usage = [`Usage: ${program}`, name, "<command> [options]"].filter(Boolean).join(" ");
  return [usage, about && reflow(about, width), helpRows(all, width)].filter(Boolean).join("\n\n");
}

/** An expected failure of a command: one sentence on stderr, never a stack trace. */
export class CommandError extends Error {
  override readonly name: string = "CommandError";
  /** Default: that of the command for a failure. */
  readonly exitCode: 1 | 2 | undefined;

  constructor(message: string, exitCode?: 1 | 2) {
    super(message);
    this.exitCode = exitCode;
  }
}

/** Wrong arguments: names the flag, what was expected and what was received. */
export class UsageError extends CommandError {
  override readonly name = "UsageError";

  constructor(message: string) {
    super(message, 2);
  }
}

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

const helpFlag = toggle("show this help");

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

/** An empty text is rejected: mostly a variable of a shell is not set. */
export function text<Fallback extends string | undefined = undefined>(
  placeholder: string,
  about: string,
  fallback?: Fallback,
): Flag<string | Fallback> {
  const parse = (value: string) => (value === "" ? undefined : value);
  return flag(placeholder, about, { parse, expected: "text", fallback });
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

/** A flag that may be repeated; each value may hold several, separated by commas. Without any it is rejected, as no filter. */
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
      const wrong = given.length === 0 ? texts.at(-1) : given.find((item) => !items.accepts(item));
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

type HelpRow = readonly [left: string, about: string];

/** Two columns; the second wraps. A long name has its text below it. */
function helpRows(rows: readonly HelpRow[], width: number): string {
  const column = Math.min(Math.max(...rows.map(([left]) => left.length)), Math.floor(width / 2));
  const indent = " ".repeat(column + 4);
  const rowOf = ([left, about]: HelpRow) =>
    left.length > column
      ? `  ${left}\n${wrapBehind(indent, about, width)}\n`
      : `${wrapBehind(`  ${left.padEnd(column)}  `, about, width)}\n`;
  return rows.map(rowOf).join("");
}

function flagRows(table: FlagTable): readonly HelpRow[] {
  return Object.entries(table).map(([name, { placeholder, about }]) => [
    [flagName(name), placeholder].filter(Boolean).join(" "),
    about,
  ]);
}

interface AskOptions {
  readonly input: NodeJS.ReadableStream;
  readonly output: NodeJS.WritableStream;
  readonly signal: AbortSignal;
}

/** Asks and returns the text of the line; empty after a stop of the program, and at the end of the input. */
export async function ask(question: string, { input, output, signal }: AskOptions): Promise<string> {
  const lines = createInterface({ input, output, terminal: false });
  // Without it the question never resolves at the end of the input, and the process ends with code 13.
  const ended = new Promise<string>((resolve) => lines.once("close", () => resolve("")));
  const answered = lines.question(question, { signal }).catch(() => "");
  return Promise.race([answered, ended]).finally(() => lines.close());
}
