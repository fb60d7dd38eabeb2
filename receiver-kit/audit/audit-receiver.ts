import { selectChecks } from "./checks/catalog.ts";
import { isAcknowledged } from "./checks/probe-check.ts";
import { diagnose, unreachableProblem } from "./diagnosis.ts";
import type { AuditProblem, AuditReport } from "./result.ts";
import { runChecks } from "./run-checks.ts";
import { ObserverError, UnreachableError } from "./target/errors.ts";
import { createObserver } from "./target/observer.ts";
import { type AuditOptions, type ResolvedAuditOptions, resolveAuditOptions } from "./target/options.ts";
import { type Signing, standardWebhooks } from "./target/signing.ts";
import { createTarget, type Target } from "./target/target.ts";

/**
 * Attacks a webhook receiver over HTTP and reports how it responds.
 *
 * Deliveries are signed with the given secret and name generated tasks: run it against a receiver that may take
 * them, not against one in production. Bounded by `runTimeoutMs`. Never throws for what the receiver does: a
 * receiver that cannot be checked results in a report with a `problem`. Not part of the interface; the checks
 * marked MUST follow from it.
 *
 * @example examples/check-receiver.test.ts#audit
 * ```ts
 * const report = await auditReceiver({ url, secret, only: ["signature", "timestamp", "headers"] });
 * expect(verdictOf(report), renderTextReport(report)).toBe("passed");
 * ```
 *
 * @throws {ReceiverError} `CONFIGURATION_INVALID` for an option that can never work, or the code of a malformed secret
 * @see interface §6, "Delivery headers and verification"
 */
export function auditReceiver(options: AuditOptions): Promise<AuditReport> {
  return audit(options, standardWebhooks);
}

/** The same for a receiver of another kind of signature, for comparisons. */
export async function audit(given: AuditOptions, signing: Signing): Promise<AuditReport> {
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

  const prepared = await prepare(options, signing);
  if ("problem" in prepared) return finish(prepared);
  const run = await runChecks(prepared.target, checks);
  return finish({ observed: prepared.target.observer !== undefined, ...run });
}

type Prepared = { readonly target: Target } | { readonly problem: AuditProblem };

/** Checks that the receiver acknowledges a valid delivery and, if asked for, that its effects can be observed. */
async function prepare(options: ResolvedAuditOptions, signing: Signing): Promise<Prepared> {
  const target = createTarget(options, signing);
  const delivery = target.compose();
  try {
    const result = await target.send(delivery);
    if (!isAcknowledged(result)) return { problem: await diagnose(target, result) };
  } catch (error) {
    if (error instanceof UnreachableError) return { problem: unreachableProblem(error) };
    throw error;
  }
  if (options.observeUrl === undefined) return { target };
  try {
    const observer = await createObserver(options.observeUrl, options, delivery.id, target.nextId());
    return { target: createTarget(options, signing, observer) };
  } catch (error) {
    if (!(error instanceof ObserverError) && !(error instanceof TypeError)) throw error;
    const hint =
      'GET <observe-url>?id=<webhook-id> returns { "count": n }, how often the delivery took effect.';
    return { problem: { code: "OBSERVE_URL", message: error.message, hints: [hint] } };
  }
}
