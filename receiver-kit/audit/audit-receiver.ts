import { parseSecret } from "../signature/secret.ts";
import { selectChecks } from "./checks/catalog.ts";
import { isAcknowledged } from "./checks/probe-check.ts";
import { diagnose, unreachableProblem } from "./diagnosis.ts";
import { type AuditOptions, type ResolvedAuditOptions, resolveAuditOptions } from "./options.ts";
import type { AuditProblem, AuditReport } from "./result.ts";
import { runChecks } from "./run-checks.ts";
import { addressOf } from "./target/connection.ts";
import { ObserverError, UnreachableError } from "./target/errors.ts";
import { createObserver } from "./target/observer.ts";
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
 * @throws {ReceiverError} `CONFIGURATION_INVALID` for an option that can never work
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
  const startedAt = new Date(clock.now()).toISOString();
  const startedTicks = clock.monotonic();
  const finish = (rest: Partial<AuditReport>): AuditReport => ({
    url: publicUrl(options.url),
    toleranceSeconds,
    startedAt,
    observed: false,
    durationMs: Math.round(clock.monotonic() - startedTicks),
    results: [],
    ...rest,
  });

  const problem = argumentProblem(options);
  if (problem) return finish({ problem });
  const prepared = await prepare(options, signing);
  if ("problem" in prepared) return finish(prepared);
  const run = await runChecks(prepared.target, checks, options);
  return finish({ observed: prepared.target.observer !== undefined, ...run });
}

/** Without user, password and query, any of which may be confidential. */
function publicUrl(text: string): string {
  if (!URL.canParse(text)) return "(not a URL)";
  const url = new URL(text);
  return `${url.protocol}//${url.host}${url.pathname}`;
}

function argumentProblem({ url, secret, oldSecret }: ResolvedAuditOptions): AuditProblem | undefined {
  const protocol = URL.canParse(url) ? new URL(url).protocol : undefined;
  if (protocol !== "http:" && protocol !== "https:") {
    return {
      code: "URL_INVALID",
      message: "expected an http or https URL",
      hints: ["For example http://127.0.0.1:3000/webhooks"],
    };
  }
  try {
    parseSecret(secret, "secret");
    if (oldSecret !== undefined) parseSecret(oldSecret, "old secret");
    return undefined;
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return { code: "SECRET_INVALID", message, hints: [] };
  }
}

type Prepared = { readonly target: Target } | { readonly problem: AuditProblem };

/** Checks that the receiver acknowledges a valid delivery and, if asked for, that its effects can be observed. */
async function prepare(options: ResolvedAuditOptions, signing: Signing): Promise<Prepared> {
  const address = addressOf(new URL(options.url));
  const targetOptions = { ...options, address, signing, limits: options };
  const target = createTarget(targetOptions);
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
    const observer = await createObserver({
      url: options.observeUrl,
      clock: options.clock,
      fetch: options.fetch,
      requestTimeoutMs: options.timeoutMs,
      timeoutMs: options.observeTimeoutMs,
      settleMs: options.observeSettleMs,
      knownId: delivery.id,
      unknownId: target.nextId(),
    });
    return { target: createTarget({ ...targetOptions, observer }) };
  } catch (error) {
    if (!(error instanceof ObserverError) && !(error instanceof TypeError)) throw error;
    const hint =
      'GET <observe-url>?id=<webhook-id> returns { "count": n }, how often the delivery took effect.';
    return { problem: { code: "OBSERVE_URL", message: error.message, hints: [hint] } };
  }
}
