// Most checks are independent of each other and run a few at a time. Those that count effects, or that could starve
// others, run alone afterwards; those that review the responses of all others run last. First of all is the check whose
// failure would make the others fail or pass without a meaning; it runs also when only others are selected.

import { notifyListener } from "@workspace-tasks/kernel/notify-listener.ts";
import { withTimeout } from "@workspace-tasks/kernel/with-timeout.ts";
import { auditChecks, forgedDelivery, stillResponding } from "./checks/catalog.ts";
import { type AuditCheck, describedCheck, type Finding } from "./checks/probe-check.ts";
import type { AuditCause, AuditReport, AuditResult } from "./report.ts";
import { type Target, UnfinishedError, UnreachableError } from "./target/target.ts";

export async function runChecks(
  target: Target,
  checks: readonly AuditCheck[],
): Promise<Pick<AuditReport, "cause" | "results" | "stoppedDuring">> {
  const { clock, concurrency, onProgress } = target;
  const [first] = checks.some(({ unverified }) => unverified) ? auditChecks.filter(isForgedDelivery) : [];
  const planned = first && !checks.includes(first) ? [first, ...checks] : checks;
  const results = new Map<string, AuditResult>();
  const inProgress = new Set<string>();
  let stoppedDuring: readonly string[] | undefined;
  let cause: AuditCause | undefined;

  async function findingOf(check: AuditCheck): Promise<Finding> {
    if (stoppedDuring && check.id !== stillResponding) {
      throw new UnfinishedError("the receiver no longer accepts connections");
    }
    if (check.needs && target[check.needs] === undefined) {
      return { outcome: "skipped", received: "needs --old-secret" };
    }
    if (cause && check.unverified === "skipped") return followsFrom(cause);
    const limitMs = 3 * target.timeoutMs + target.stallTimeoutMs;
    const finding = await bounded(target, () => check.run(target), limitMs);
    if (check.id === forgedDelivery && finding.acknowledged) cause = unverifiedBy(finding);
    return cause ? withoutProof(check, finding) : finding;
  }

  async function run(check: AuditCheck): Promise<void> {
    const { id } = check;
    inProgress.add(id);
    const startedAt = clock.monotonic();
    const {
      unreachable,
      acknowledged: _,
      ...finding
    } = await findingOf(check).catch((error) => withoutResult(id, error));
    const durationMs = Math.round(clock.monotonic() - startedAt);
    // One failed connection may mean that the receiver is at its limit; two mean that it has stopped.
    if (!stoppedDuring && unreachable && (await hasStopped(target))) stoppedDuring ??= [...inProgress];
    inProgress.delete(id);
    results.set(id, { ...describedCheck(check), ...finding, durationMs });
    notifyListener(onProgress, { done: results.size, total: planned.length, id });
  }

  if (first) await run(first);
  const waiting = checks.filter((each) => each.stage === undefined && each !== first).values();
  const worker = async () => {
    for (const check of waiting) await run(check);
  };
  await Promise.all(Array.from({ length: concurrency }, worker));
  for (const stage of ["alone", "last"] as const) {
    for (const check of checks) if (check.stage === stage) await run(check);
  }
  return {
    ...(cause && { cause }),
    results: (cause ? planned : checks).flatMap(({ id }) => results.get(id) ?? []),
    ...(stoppedDuring && { stoppedDuring }),
  };
}

const isForgedDelivery = ({ id }: AuditCheck) => id === forgedDelivery;

const unverifiedBy = ({ received }: Finding): AuditCause => ({
  check: forgedDelivery,
  message: `no signature is checked, or other code responds before the receiver (an async Fastify route without reply.hijack(), NestJS' @Res({ passthrough: true }), an early res.send): a forged delivery was accepted (${received})`,
});

const followsFrom = ({ check }: AuditCause): Finding => ({
  outcome: "skipped",
  received: `follows from ${check}`,
  follows: true,
});

/** Without verification an acknowledgement proves nothing; a counted effect does. */
const withoutProof = ({ unverified }: AuditCheck, finding: Finding): Finding =>
  finding.outcome === "passed" && (unverified === "inconclusive" || finding.responsesOnly)
    ? { ...finding, outcome: "inconclusive" }
    : finding;

function withoutResult(id: string, error: unknown): Finding {
  if (!(error instanceof UnfinishedError)) throw error;
  const unreachable = error instanceof UnreachableError;
  const outcome = unreachable && id === stillResponding ? "failed" : "unfinished";
  return { outcome, received: error.message, unreachable };
}

/** Settles as `use` does; rejects at the limit, at the time limit of the run, and when the run is stopped. */
export function bounded<Value>(
  { signal, clock, leftMs }: Target,
  use: () => Promise<Value>,
  limitMs = Number.POSITIVE_INFINITY,
): Promise<Value> {
  return new Promise((resolve, reject) => {
    const stop = () => reject(new UnfinishedError("check-receiver was stopped"));
    if (signal?.aborted) return stop();
    const ms = Math.round(Math.min(limitMs, leftMs()));
    if (ms <= 0) return reject(new UnfinishedError("the time limit of the whole run was reached"));
    signal?.addEventListener("abort", stop, { once: true });
    withTimeout(use(), ms, clock, () => new UnfinishedError(`no result within ${ms} ms`))
      .then(resolve, reject)
      .finally(() => signal?.removeEventListener("abort", stop));
  });
}

const hasStopped = (target: Target): Promise<boolean> =>
  target.send(target.compose()).then(
    () => false,
    (error) => error instanceof UnreachableError,
  );
