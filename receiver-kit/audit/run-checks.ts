// Most checks are independent of each other and run a few at a time. Those that count effects, or that could
// starve others, run alone afterwards; those that review the answers of all others come last.

import type { AuditCheck, Finding } from "./checks/check.ts";
import type { ResolvedAuditOptions } from "./options.ts";
import type { AuditOutcome, AuditReport, AuditResult } from "./result.ts";
import { ObserverError } from "./target/observer.ts";
import { type Target, UnreachableError } from "./target/target.ts";

export async function runChecks(
  target: Target,
  checks: readonly AuditCheck[],
  options: ResolvedAuditOptions,
): Promise<Pick<AuditReport, "results" | "stoppedDuring">> {
  const results = new Map<string, AuditResult>();
  const underWay = new Set<string>();
  const deadline = target.clock.monotonic() + options.runTimeoutMs;
  let stoppedDuring: readonly string[] | undefined;

  async function take(check: AuditCheck): Promise<void> {
    underWay.add(check.id);
    const isLastWord = check.id === "baseline.still-answering";
    const hindrance = options.signal?.aborted
      ? "the audit was stopped"
      : stoppedDuring && !isLastWord
        ? "the receiver no longer accepts connections"
        : target.clock.monotonic() >= deadline
          ? "the time limit of the whole audit was reached"
          : undefined;
    const result = await runCheck(target, check, { deadline, hindrance, signal: options.signal });
    // With one refused connection a receiver may have been at its limit; with two it is gone.
    if (!stoppedDuring && result.unreachable && (await isGone(target))) stoppedDuring ??= [...underWay];
    underWay.delete(check.id);
    const { unreachable: _, ...kept } = result;
    results.set(check.id, kept);
    options.onProgress?.({ done: results.size, total: checks.length, id: check.id });
  }

  const pooled = checks.filter((check) => check.stage === undefined);
  await inPool(pooled, options.concurrency, take);
  for (const stage of ["alone", "last"] as const) {
    for (const check of checks) if (check.stage === stage) await take(check);
  }
  return {
    results: checks.flatMap(({ id }) => results.get(id) ?? []),
    ...(stoppedDuring === undefined ? {} : { stoppedDuring }),
  };
}

async function isGone(target: Target): Promise<boolean> {
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

type Bounds = {
  /** On the monotonic clock. */
  readonly deadline: number;
  /** Why the check is not even begun. */
  readonly hindrance: string | undefined;
  readonly signal: AbortSignal | undefined;
};

async function runCheck(
  target: Target,
  check: AuditCheck,
  bounds: Bounds,
): Promise<AuditResult & { readonly unreachable?: boolean }> {
  const { id, requirement, title, sent, expected, mend } = check;
  const startedAt = target.clock.monotonic();
  const finding =
    bounds.hindrance === undefined ? await findingOf(target, check, bounds) : unfinished(bounds.hindrance);
  const durationMs = Math.round(target.clock.monotonic() - startedAt);
  return { id, requirement, title, sent, expected, mend, ...finding, durationMs };
}

type TimedFinding = Omit<Finding, "outcome"> & { readonly outcome: AuditOutcome };

const unfinished = (received: string): TimedFinding => ({ outcome: "unfinished", received });

async function findingOf(target: Target, check: AuditCheck, bounds: Bounds): Promise<TimedFinding> {
  if (check.schemes && !check.schemes.includes(target.scheme.name)) {
    return { outcome: "skipped", received: `the ${target.scheme.name} scheme has nothing of the kind` };
  }
  const cutOff = cuttingOff(target, bounds);
  const finding = check.run(target).catch((error: unknown) => {
    if (error instanceof ObserverError) return unfinished(error.message);
    if (error instanceof UnreachableError) return { ...unfinished(error.message), unreachable: true };
    throw error;
  });
  try {
    return await Promise.race([finding, cutOff.finding]);
  } finally {
    cutOff.cancel();
  }
}

/** A finding that comes when the check has taken too long or the audit is stopped. */
function cuttingOff(target: Target, { deadline, signal }: Bounds) {
  const { timeoutMs, stallTimeoutMs } = target.limits;
  const leftMs = Math.max(0, deadline - target.clock.monotonic());
  const limitMs = Math.min(leftMs, 3 * timeoutMs + stallTimeoutMs);
  let cancel = () => {};
  const finding = new Promise<TimedFinding>((resolve) => {
    const stop = () => resolve(unfinished("the audit was stopped"));
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
