import type { SpawnOptions } from "node:child_process";

export interface Captured {
  /** Exit code, the name of a signal, or why the command did not start. */
  readonly code: number | string;
  readonly stdout: string;
  /** Both streams, line by line. */
  readonly output: string;
}

export declare function capture(
  command: string,
  args: readonly string[],
  options?: SpawnOptions,
): Promise<Captured>;
