// Most checks are independent of each other and run a few at a time. Those that count effects, or that could starve
// others, run alone afterwards; those that review the responses of all others run last.

import { withTimeout } from "../with-timeout.ts";
import { stillResponding } from "./checks/catalog.ts";
import type { AuditCheck, Finding } from "./checks/check.ts";
import type { AuditReport, AuditResult } from "./result.ts";
import { UnfinishedError, UnreachableError } from "./target/errors.ts";
import type { Target } from "./target/target.ts";

export async function runChecks(
  target: Target,
  checks: readonly AuditCheck[],
): Promise<Pick<AuditReport, "results" | "stoppedDuring">> {
  const { clock, signal, concurrency, onProgress } = target;
  const results = new Map<string, AuditResult>();
  const inProgress = new Set<string>();
  const deadline = clock.monotonic() + target.runTimeoutMs;
  let stoppedDuring: readonly string[] | undefined;

  async function findingOf(check: AuditCheck): Promise<Finding> {
    const leftMs = deadline - clock.monotonic();
    const limitMs = Math.min(leftMs, 3 * target.timeoutMs + target.stallTimeoutMs);
    if (stoppedDuring && check.id !== stillResponding) {
      throw new UnfinishedError("the receiver no longer accepts connections");
    }
    if (check.needs && target[check.needs] === undefined) {
      return { outcome: "skipped", received: "needs --old-secret" };
    }
    if (leftMs <= 0) throw new UnfinishedError("the time limit of the whole run was reached");
    const noResult = () => new UnfinishedError(`no result within ${Math.round(limitMs)} ms`);
    const finding = unlessAborted(signal, () => check.run(target));
    return withTimeout(finding, limitMs, clock, noResult);
  }

  async function run(check: AuditCheck): Promise<void> {
    const { id, requirement, title, sent, expected, fix } = check;
    inProgress.add(id);
    const startedAt = clock.monotonic();
    const { unreachable, ...finding } = await findingOf(check).catch((error) => withoutResult(id, error));
    const durationMs = Math.round(clock.monotonic() - startedAt);
    // One failed connection may mean that the receiver is at its limit; two mean that it has stopped.
    if (!stoppedDuring && unreachable && (await hasStopped(target))) stoppedDuring ??= [...inProgress];
    inProgress.delete(id);
    results.set(id, { id, requirement, title, sent, expected, fix, ...finding, durationMs });
    onProgress?.({ done: results.size, total: checks.length, id });
  }

  const waiting = checks.filter(({ stage }) => stage === undefined).values();
  const worker = async () => {
    for (const check of waiting) await run(check);
  };
  await Promise.all(Array.from({ length: concurrency }, worker));
  for (const stage of ["alone", "last"] as const) {
    for (const check of checks) if (check.stage === stage) await run(check);
  }
  return {
    results: checks.flatMap(({ id }) => results.get(id) ?? []),
    ...(stoppedDuring && { stoppedDuring }),
  };
}

function withoutResult(id: string, error: unknown): Finding {
  if (!(error instanceof UnfinishedError)) throw error;
  const unreachable = error instanceof UnreachableError;
  const outcome = unreachable && id === stillResponding ? "failed" : "unfinished";
  return { outcome, received: error.message, unreachable };
}

/** Rejects as soon as the signal is aborted; then the run is not waited for. */
function unlessAborted<Value>(signal: AbortSignal | undefined, run: () => Promise<Value>): Promise<Value> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(new UnfinishedError("check-receiver was stopped"));
    if (signal?.aborted) return abort();
    signal?.addEventListener("abort", abort, { once: true });
    run()
      .then(resolve, reject)
      .finally(() => signal?.removeEventListener("abort", abort));
  });
}

const hasStopped = (target: Target): Promise<boolean> =>
  target.send(target.compose()).then(
    () => false,
    (error) => error instanceof UnreachableError,
  );
