// Most checks are independent of each other and run a few at a time. Those that count effects, or that could starve
// others, run alone afterwards; those that review the responses of all others run last.

import { withTimeout } from "../with-timeout.ts";
import type { AuditCheck, Finding } from "./checks/check.ts";
import type { ResolvedAuditOptions } from "./options.ts";
import type { AuditReport, AuditResult } from "./result.ts";
import { UnfinishedError, UnreachableError } from "./target/errors.ts";
import type { Target } from "./target/target.ts";

export async function runChecks(
  target: Target,
  checks: readonly AuditCheck[],
  { runTimeoutMs, concurrency, signal, onProgress }: ResolvedAuditOptions,
): Promise<Pick<AuditReport, "results" | "stoppedDuring">> {
  const { clock, limits } = target;
  const results = new Map<string, AuditResult>();
  const inProgress = new Set<string>();
  const deadline = clock.monotonic() + runTimeoutMs;
  let stoppedDuring: readonly string[] | undefined;
  const aborted = rejectsOnAbort(signal);

  async function findingOf({ id, run }: AuditCheck): Promise<Finding> {
    const isFinalCheck = id === "baseline.still-responding";
    const leftMs = deadline - clock.monotonic();
    const limitMs = Math.min(leftMs, 3 * limits.timeoutMs + limits.stallTimeoutMs);
    if (signal?.aborted) await aborted.promise;
    if (stoppedDuring && !isFinalCheck) {
      throw new UnfinishedError("the receiver no longer accepts connections");
    }
    if (leftMs <= 0) throw new UnfinishedError("the time limit of the whole run was reached");
    const finding = Promise.race([run(target), aborted.promise]);
    return withTimeout(
      finding,
      limitMs,
      clock,
      () => new UnfinishedError(`no result within ${Math.round(limitMs)} ms`),
    );
  }

  async function run(check: AuditCheck): Promise<void> {
    const { id, requirement, title, sent, expected, fix } = check;
    inProgress.add(id);
    const startedAt = clock.monotonic();
    const { unreachable, ...finding } = await findingOf(check).catch(unfinished);
    const durationMs = Math.round(clock.monotonic() - startedAt);
    // One failed connection may mean that the receiver is at its limit; two mean that it has stopped.
    if (!stoppedDuring && unreachable && (await hasStopped(target))) stoppedDuring ??= [...inProgress];
    inProgress.delete(id);
    results.set(id, { id, requirement, title, sent, expected, fix, ...finding, durationMs });
    onProgress?.({ done: results.size, total: checks.length, id });
  }

  try {
    await inPool(
      checks.filter((check) => check.stage === undefined),
      concurrency,
      run,
    );
    for (const stage of ["alone", "last"] as const) {
      for (const check of checks) if (check.stage === stage) await run(check);
    }
  } finally {
    aborted.cancel();
  }
  return {
    results: checks.flatMap(({ id }) => results.get(id) ?? []),
    ...(stoppedDuring === undefined ? {} : { stoppedDuring }),
  };
}

function unfinished(error: unknown) {
  if (!(error instanceof UnfinishedError)) throw error;
  const unreachable = error instanceof UnreachableError;
  return { outcome: "unfinished", received: error.message, unreachable } as const;
}

function rejectsOnAbort(signal: AbortSignal | undefined) {
  let abort = () => {};
  const promise = new Promise<never>((_, reject) => {
    abort = () => reject(new UnfinishedError("check-receiver was stopped"));
  });
  promise.catch(() => {});
  if (signal?.aborted) abort();
  signal?.addEventListener("abort", abort, { once: true });
  return { promise, cancel: () => signal?.removeEventListener("abort", abort) };
}

async function hasStopped(target: Target): Promise<boolean> {
  try {
    await target.send(target.compose());
    return false;
  } catch (error) {
    if (error instanceof UnreachableError) return true;
    throw error;
  }
}

async function inPool<T>(items: readonly T[], size: number, use: (item: T) => Promise<void>): Promise<void> {
  const waiting = items.values();
  const worker = async () => {
    for (const item of waiting) await use(item);
  };
  await Promise.all(Array.from({ length: size }, worker));
}
