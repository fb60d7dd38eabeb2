import { version } from "@workspace-tasks/events/catalog";
import { versionMismatch } from "@workspace-tasks/kernel/version.ts";
import { ReceiverError } from "@workspace-tasks/receiver-kit";
import { selectChecks, validDelivery } from "./checks/catalog.ts";
import {
  type AuditCheck,
  describedCheck,
  describeResult,
  failed,
  isAcknowledged,
} from "./checks/probe-check.ts";
import { diagnose, problemOf } from "./diagnosis.ts";
import type { AuditReport } from "./report.ts";
import { bounded, runChecks } from "./run-checks.ts";
import type { ProbeResult } from "./target/connection.ts";
import {
  type AuditOptions,
  createObserver,
  createTarget,
  resolveAuditOptions,
  type Target,
  UnfinishedError,
} from "./target/target.ts";

/**
 * Attacks a webhook receiver over HTTP and reports how it responds.
 *
 * Deliveries are signed with the given secret and name generated tasks: run it against a receiver that may take
 * them, not against one in production. Bounded by `runTimeoutMs`. Never throws for what the receiver does: one that
 * rejects even a valid delivery fails the check `baseline.valid-delivery`, and the report names the usual causes
 * that were tried. Not part of the interface; the checks marked MUST follow from it.
 *
 * @example examples/check-receiver.test.ts#audit
 * ```ts
 * const report = await auditReceiver({ url, secret, only: ["signature", "timestamp", "headers"] });
 * expect(verdictOf(report), renderTextReport(report)).toBe("passed");
 * ```
 *
 * @throws {ReceiverError} `CONFIGURATION_INVALID` for an option that can never work, `SECRET_INVALID` or `VERSION_MISMATCH`
 * @see interface §6, "Delivery headers and verification"
 */
export async function auditReceiver(given: AuditOptions): Promise<AuditReport> {
  const mismatch = versionMismatch("workspace-tasks", "@workspace-tasks/events", version);
  if (mismatch) throw new ReceiverError("VERSION_MISMATCH", mismatch);
  const options = resolveAuditOptions(given);
  const checks = selectChecks(options.only);
  const { clock, toleranceSeconds } = options;
  const url = new URL(options.url);
  const startedAt = new Date(clock.now()).toISOString();
  const startedTicks = clock.monotonic();
  const finish = (rest: Partial<AuditReport>): AuditReport => ({
    url: url.origin + url.pathname,
    toleranceSeconds,
    startedAt,
    observed: false,
    durationMs: Math.round(clock.monotonic() - startedTicks),
    results: [],
    ...rest,
  });

  const target = createTarget(options);
  try {
    return finish(await checkAll(target, checks));
  } finally {
    target.close();
  }
}

type Findings = Partial<Pick<AuditReport, "problem" | "observed" | "results" | "stoppedDuring">>;

/** All checks, provided that a valid delivery is acknowledged and, if asked for, its effects can be observed. */
async function checkAll(target: Target, checks: readonly AuditCheck[]): Promise<Findings> {
  const { observeUrl } = target;
  const delivery = target.compose();
  try {
    const result = await bounded(target, () => target.send(delivery));
    if (!isAcknowledged(result)) return await withoutBaseline(target, result);
    if (observeUrl === undefined) return await runChecks(target, checks);
    const observer = await bounded(target, () =>
      createObserver(observeUrl, target, delivery.id, target.nextId()),
    );
    return { observed: true, ...(await runChecks({ ...target, observer }, checks)) };
  } catch (error) {
    if (error instanceof UnfinishedError) return { problem: problemOf(error) };
    throw error;
  }
}

/** The first check fails, and no other has a meaning. Only what does not speak HTTP is not a receiver. */
async function withoutBaseline(target: Target, result: ProbeResult): Promise<Findings> {
  const problem = await diagnose(target, result);
  if (result.kind === "not-http") return { problem };
  const { durationMs } = result;
  const finding = { fix: problem.hints.join(" "), ...failed(describeResult(result)) };
  return {
    problem,
    results: [{ ...describedCheck(validDelivery), ...finding, durationMs: Math.round(durationMs) }],
  };
}
