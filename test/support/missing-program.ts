import type { Program } from "./programs.ts";
import { askShared } from "./shared-server.ts";

/**
 * Why a program cannot be used on this machine; undefined when it can. Looked for once per run, by the first test file
 * that asks.
 *
 * @throws Error when it is missing and WORKSPACE_TASKS_TESTS=all, as in CI
 */
export const missingProgram = async (program: Program): Promise<string | undefined> =>
  ((await askShared(`/missing/${program}`)) as string | null) ?? undefined;
