import { type ParseArgsConfig, parseArgs } from "node:util";

/** What a command talks to; tests hand in their own. */
export type CommandIo = {
  readonly stdout: { write(text: string): unknown };
  readonly stderr: { write(text: string): unknown; readonly isTTY?: boolean | undefined };
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Whether a person sits at a terminal. */
  readonly isTTY?: boolean | undefined;
  /** Fires when the command is asked to end; the reason is the signal's name. */
  readonly stop: AbortSignal;
};

/** Wrong arguments: one sentence for the person, exit code 2. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** What could not be done with right arguments: one sentence that says how to mend it, exit code 1. */
export class CommandError extends Error {
  override readonly name = "CommandError";
}

export type CommandHelp = { readonly command: string; readonly usage: string };

/**
 * Runs a command to its exit code. `--help` prints the usage; a mistake prints one sentence, never a stack.
 */
export async function runCommand(
  { command, usage }: CommandHelp,
  argv: readonly string[],
  io: CommandIo,
  run: () => Promise<number>,
): Promise<number> {
  const ownArguments = argv.slice(0, argv.includes("--") ? argv.indexOf("--") : argv.length);
  if (ownArguments.includes("--help") || ownArguments.includes("-h")) {
    io.stdout.write(usage);
    return 0;
  }
  try {
    return await run();
  } catch (error) {
    if (error instanceof UsageError) {
      io.stderr.write(`${command}: ${error.message}\nTry workspace-tasks ${command} --help\n`);
      return 2;
    }
    if (error instanceof CommandError) {
      io.stderr.write(`${command}: ${error.message}\n`);
      return 1;
    }
    throw error;
  }
}

type FlagOptions = NonNullable<ParseArgsConfig["options"]>;
type FlagsOf<Options extends FlagOptions> = ReturnType<
  typeof parseArgs<{ args: string[]; options: Options; allowPositionals: true; strict: true }>
>;

/** Reads flags; an unknown one, or a missing value, is a `UsageError`. */
export function readFlags<const Options extends FlagOptions>(
  argv: readonly string[],
  options: Options,
): FlagsOf<Options> {
  try {
    return parseArgs({ args: [...argv], options, allowPositionals: true, strict: true });
  } catch (error) {
    // Node's own message goes on for a paragraph; its first sentence names the flag.
    const [sentence = "wrong arguments"] = (error instanceof Error ? error.message : "").split(/[.\n]/);
    throw new UsageError(sentence.charAt(0).toLowerCase() + sentence.slice(1));
  }
}

export function readWholeNumber(
  name: string,
  text: string | undefined,
  range: { readonly min: number; readonly max: number },
): number | undefined {
  if (text === undefined) return undefined;
  const number = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
  if (!(number >= range.min && number <= range.max)) {
    throw new UsageError(
      `expected a whole number from ${range.min} to ${range.max} for --${name}, got ${JSON.stringify(text)}`,
    );
  }
  return number;
}

export function readChoice<const Choice extends string>(
  name: string,
  text: string | undefined,
  choices: readonly Choice[],
): Choice | undefined {
  if (text === undefined) return undefined;
  const choice = choices.find((candidate) => candidate === text);
  if (choice === undefined) {
    throw new UsageError(`expected ${choices.join(" or ")} for --${name}, got ${JSON.stringify(text)}`);
  }
  return choice;
}
