// Absolute times say little on a shared machine. What is compared takes turns; each round gives one ratio, and the
// median of the ratios is the result. CPU time leaves out waiting for other programs. Each contender has its own
// process, so that the garbage of one is not collected at the expense of another, and the engine optimizes shared
// functions for one caller only.

import type { Sample } from "./meter.ts";
import { type ForkedProcess, forkProcess } from "./processes.ts";
import { inTurns } from "./statistics.ts";

/** Each file in `contenders/` exports one as `createContender`. A contender is ours or a peer. */
export type CreateContender = (name: string, argument: string) => RunContender | Promise<RunContender>;
/** Does the work `count` times. */
export type RunContender = (count: number) => void | Promise<void>;

export interface AlternateOptions {
  readonly rounds: number;
  /** CPU time of one contender per round. */
  readonly roundMs: number;
  /** CPU time of one contender before the first round. */
  readonly warmUpMs?: number | undefined;
}

/**
 * Runs contenders in turns.
 *
 * @param file below `test/bench/`; exports `createContender`
 * @param argument passed to it
 */
export async function alternate(
  file: string,
  argument: string,
  names: readonly string[],
  { rounds, roundMs, warmUpMs = 0 }: AlternateOptions,
): Promise<ReadonlyMap<string, readonly Sample[]>> {
  const contenders: ForkedProcess[] = [];
  const counts = new Map<string, number>();
  try {
    for (const name of names) contenders.push(await forkProcess("run-contender.ts", [file, argument, name]));
    const contenderOf = (name: string) => contenders[names.indexOf(name)] as ForkedProcess;
    for (const name of names) counts.set(name, await operationsIn(contenderOf(name), roundMs, warmUpMs));
    return await inTurns(names, { rounds }, (name) => run(contenderOf(name), counts.get(name) ?? 1));
  } finally {
    for (const contender of contenders) await contender[Symbol.asyncDispose]();
  }
}

async function run(contender: ForkedProcess, count: number): Promise<Sample> {
  return (await contender.request({ count })) as Sample;
}

/** How often a contender fits into a round; found while it warms up. */
async function operationsIn(contender: ForkedProcess, roundMs: number, warmUpMs: number): Promise<number> {
  let warmMs = 0;
  for (let count = 1; ; ) {
    const spentMs = ((await run(contender, count)).cpuUs * count) / 1_000;
    warmMs += spentMs;
    const perRound = Math.max(1, Math.round((count * roundMs) / spentMs));
    if (spentMs >= roundMs / 2 && warmMs >= warmUpMs) return perRound;
    count = spentMs < roundMs / 2 ? count * 2 : perRound;
  }
}
