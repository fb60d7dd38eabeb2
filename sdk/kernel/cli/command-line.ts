// What the commands of the mock server and of the receiver kit share. Only their cli/ folders and bin/ import it.

import { didYouMean } from "../did-you-mean.ts";
import { lineWidth, proseWidth, type TextStream } from "../layout/terminal.ts";
import { reflow, wrapLines } from "../layout/text.ts";
import { isError } from "../realm.ts";
import { visibleLines } from "../visible.ts";
import { CommandError, UsageError } from "./command-error.ts";
import { type FlagTable, helpFlag, type ParsedArguments, parseFlags } from "./flags.ts";
import { flagRows, type HelpRow, helpRows } from "./help.ts";

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

export interface CommandGroup {
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
