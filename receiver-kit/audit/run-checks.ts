// Most checks are independent of each other and run a few at a time. Those that count effects, or that could starve
// others, run alone afterwards; those that review the responses of all others run last.

import type { AuditCheck, Finding } from "./checks/check.ts";
import type { ResolvedAuditOptions } from "./options.ts";
import type { AuditOutcome, AuditReport, AuditResult } from "./result.ts";
import { ObserverError } from "./target/observer.ts";
import { type Target, UnreachableError } from "./target/target.ts";

export async function runChecks(
  target: Target,
  checks: readonly AuditCheck[],
  { runTimeoutMs, concurrency, signal, onProgress }: ResolvedAuditOptions,
): Promise<Pick<AuditReport, "results" | "stoppedDuring">> {
  const results = new Map<string, AuditResult>();
  const inProgress = new Set<string>();
  const deadline = target.clock.monotonic() + runTimeoutMs;
  let stoppedDuring: readonly string[] | undefined;

  function skipReasonOf({ id }: AuditCheck): string | undefined {
    if (signal?.aborted) return "check-receiver was stopped";
    const isFinalCheck = id === "baseline.still-responding";
    if (stoppedDuring && !isFinalCheck) return "the receiver no longer accepts connections";
    return target.clock.monotonic() >= deadline ? "the time limit of the whole run was reached" : undefined;
  }

  async function run(check: AuditCheck): Promise<void> {
    inProgress.add(check.id);
    const skipReason = skipReasonOf(check);
    const { unreachable, ...result } = await runCheck(target, check, { deadline, skipReason, signal });
    // One failed connection may mean that the receiver is at its limit; two mean that it has stopped.
    if (!stoppedDuring && unreachable && (await hasStopped(target))) stoppedDuring ??= [...inProgress];
    inProgress.delete(check.id);
    results.set(check.id, result);
    onProgress?.({ done: results.size, total: checks.length, id: check.id });
  }

  const pooled = checks.filter((check) => check.stage === undefined);
  await inPool(pooled, concurrency, run);
  for (const stage of ["alone", "last"] as const) {
    for (const check of checks) if (check.stage === stage) await run(check);
  }
  return {
    results: checks.flatMap(({ id }) => results.get(id) ?? []),
    ...(stoppedDuring === undefined ? {} : { stoppedDuring }),
  };
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

interface Bounds {
  /** On the monotonic clock. */
  readonly deadline: number;
  /** Why the check does not start. */
  readonly skipReason: string | undefined;
  readonly signal: AbortSignal | undefined;
}

async function runCheck(
  target: Target,
  check: AuditCheck,
  bounds: Bounds,
): Promise<AuditResult & { readonly unreachable?: boolean }> {
  const { id, requirement, title, sent, expected, fix } = check;
  const startedAt = target.clock.monotonic();
  const { skipReason } = bounds;
  const finding = skipReason === undefined ? await findingOf(target, check, bounds) : unfinished(skipReason);
  const durationMs = Math.round(target.clock.monotonic() - startedAt);
  return { id, requirement, title, sent, expected, fix, ...finding, durationMs };
}

type TimedFinding = Omit<Finding, "outcome"> & { readonly outcome: AuditOutcome };

const unfinished = (received: string): TimedFinding => ({ outcome: "unfinished", received });

async function findingOf(target: Target, check: AuditCheck, bounds: Bounds): Promise<TimedFinding> {
  const limit = timeLimit(target, bounds);
  const finding = check.run(target).catch((error: unknown) => {
    if (error instanceof ObserverError) return unfinished(error.message);
    if (error instanceof UnreachableError) return { ...unfinished(error.message), unreachable: true };
    throw error;
  });
  try {
    return await Promise.race([finding, limit.finding]);
  } finally {
    limit.cancel();
  }
}

/** A finding that resolves when the check has taken too long or the run is stopped. */
function timeLimit(target: Target, { deadline, signal }: Bounds) {
  const { timeoutMs, stallTimeoutMs } = target.limits;
  const leftMs = Math.max(0, deadline - target.clock.monotonic());
  const limitMs = Math.min(leftMs, 3 * timeoutMs + stallTimeoutMs);
  let cancel = () => {};
  const finding = new Promise<TimedFinding>((resolve) => {
    const stop = () => resolve(unfinished("check-receiver was stopped"));
    const cancelTimer = target.clock.schedule(limitMs, () =>
      resolve(unfinished(`no result within ${Math.round(limitMs)} ms`)),
    );
    signal?.addEventListener("abort", stop, { once: true });
    cancel = () => {
      cancelTimer();
      signal?.removeEventListener("abort", stop);
    };
  });
  return { finding, cancel };
}
