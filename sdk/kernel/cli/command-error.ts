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
