import { randomBytes as systemRandomBytes } from "node:crypto";
import type { Clock } from "../clock.ts";
import { parseSecret } from "../signature/secret.ts";
import { selectChecks } from "./catalog.ts";
import type { Requirement } from "./check.ts";
import { attackClock } from "./clock.ts";
import { addressOf } from "./connection.ts";
import { diagnose, unreachableProblem } from "./diagnosis.ts";
import { createObserver, type Observer, ObserverError } from "./observer.ts";
import { runChecks } from "./run.ts";
import { type SchemeName, schemeByName } from "./scheme.ts";
import {
  createTarget,
  type Target,
  type TargetLimits,
  type TargetOptions,
  UnreachableError,
} from "./target.ts";
import { isAcknowledged } from "./verdict.ts";

export type AuditOptions = {
  /** Where the receiver takes deliveries; http or https. */
  readonly url: string;
  /** The signing secret of the endpoint. Never shown, stored or put into a report. */
  readonly secret: string;
  /** A secret that is still in its grace period; without it the checks about it are skipped. */
  readonly oldSecret?: string | undefined;
  /** Ids or subjects of checks; all when absent or empty. */
  readonly only?: readonly string[] | undefined;
  /** How deliveries are signed. Default `standard-webhooks`, the service's scheme. */
  readonly scheme?: SchemeName | undefined;
  /** The receiver's tolerance for timestamps. Default 300. */
  readonly toleranceSeconds?: number | undefined;
  /**
   * Where the receiver tells what it did: `?id=<webhook-id>` answers `{ "count": n }`, how often the delivery took
   * effect, and `?taskId=<id>` may answer `{ "status": "…" }`. Without it duplicates are judged by answers only.
   */
  readonly observeUrl?: string | undefined;
  /** How long an effect may take to show after the acknowledgement. Default 10,000. */
  readonly observeTimeoutMs?: number | undefined;
  /** How long to wait for further effects of a delivery. Default 300. */
  readonly observeSettleMs?: number | undefined;
  /** Time limit for one answer. Default 10,000. */
  readonly timeoutMs?: number | undefined;
  /** Time within which a stalled body has to be given up. Default 20,000. */
  readonly stallTimeoutMs?: number | undefined;
  /** Slowest acknowledgement that is not reported. Default 3,000. */
  readonly answerTimeMsMax?: number | undefined;
  /** Time limit for the whole audit; checks that it cuts off are `unfinished`. Default 180,000. */
  readonly runTimeoutMs?: number | undefined;
  /** Checks under way at once. Default 4. */
  readonly concurrency?: number | undefined;
  /** Ends the audit early; checks that it cuts off are `unfinished`. */
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((progress: AuditProgress) => void) | undefined;
  readonly clock?: Clock | undefined;
  readonly randomBytes?: ((count: number) => Buffer) | undefined;
  readonly fetch?: typeof fetch | undefined;
};

export type AuditProgress = { readonly done: number; readonly total: number; readonly id: string };

export type AuditOutcome = "passed" | "failed" | "skipped" | "unfinished";

export type AuditResult = {
  readonly id: string;
  readonly requirement: Requirement;
  readonly title: string;
  readonly outcome: AuditOutcome;
  readonly sent: string;
  readonly expected: string;
  readonly received: string;
  readonly mend: string;
  /** The answers were right, but whether the effects were could not be seen. */
  readonly answersOnly?: boolean;
  readonly durationMs: number;
};

export type AuditProblem = {
  readonly code:
    | "URL_INVALID"
    | "SECRET_INVALID"
    | "UNREACHABLE"
    | "NO_ANSWER"
    | "CLOSED"
    | "NOT_HTTP"
    | "NOT_FOUND"
    | "WRONG_ROUTE"
    | "REDIRECTED"
    | "REFUSED"
    | "SERVER_ERROR"
    | "OBSERVE_URL";
  readonly message: string;
  readonly hints: readonly string[];
};

export type AuditReport = {
  /** The audited URL, without user, password and query. */
  readonly url: string;
  readonly scheme: SchemeName;
  readonly toleranceSeconds: number;
  readonly observed: boolean;
  readonly startedAt: string;
  readonly durationMs: number;
  /** Why the audit could not be made; `results` is empty then. */
  readonly problem?: AuditProblem;
  /** The checks under way when the receiver stopped accepting connections for good. */
  readonly stoppedDuring?: readonly string[];
  readonly results: readonly AuditResult[];
};

/**
 * Attacks a webhook receiver over HTTP and judges how it answers.
 *
 * Deliveries are signed with the given secret and name made-up tasks: point it at a receiver that may take
 * them, not at one in production. Bounded by `runTimeoutMs`. Never throws for what the receiver does: a
 * receiver that cannot be audited gives a report with a `problem`. Lies beyond the interface; the checks
 * marked MUST follow from it.
 *
 * @throws {RangeError} when `only` names no check
 * @see interface §6, "Delivery headers and verification"
 */
export async function auditReceiver(options: AuditOptions): Promise<AuditReport> {
  const checks = selectChecks(options.only ?? []);
  const clock = options.clock ?? attackClock;
  const startedAt = clock.now();
  const startedTicks = clock.monotonic();
  const limits = limitsOf(options);
  const about = {
    url: publicUrl(options.url),
    scheme: options.scheme ?? "standard-webhooks",
    toleranceSeconds: limits.toleranceSeconds,
    startedAt: new Date(startedAt).toISOString(),
  } as const;
  const finish = (rest: Partial<AuditReport>): AuditReport => ({
    ...about,
    observed: false,
    durationMs: Math.round(clock.monotonic() - startedTicks),
    results: [],
    ...rest,
  });

  const wrongArgument = problemOf(options);
  if (wrongArgument) return finish({ problem: wrongArgument });
  const targetOptions: TargetOptions = {
    address: addressOf(new URL(options.url)),
    scheme: schemeByName(about.scheme),
    secret: options.secret,
    oldSecret: options.oldSecret,
    clock,
    randomBytes: options.randomBytes ?? systemRandomBytes,
    limits,
  };
  const prepared = await prepare(targetOptions, options);
  if ("problem" in prepared) return finish({ problem: prepared.problem });
  const run = await runChecks(prepared.target, checks, options);
  return finish({ observed: prepared.target.observer !== undefined, ...run });
}

function limitsOf(options: AuditOptions): TargetLimits {
  return {
    timeoutMs: options.timeoutMs ?? 10_000,
    toleranceSeconds: options.toleranceSeconds ?? 300,
    stallTimeoutMs: options.stallTimeoutMs ?? 20_000,
    answerTimeMsMax: options.answerTimeMsMax ?? 3_000,
  };
}

/** Without user, password and query, any of which may be confidential. */
function publicUrl(text: string): string {
  if (!URL.canParse(text)) return "(not a URL)";
  const url = new URL(text);
  return `${url.protocol}//${url.host}${url.pathname}`;
}

function problemOf({ url, secret, oldSecret, scheme }: AuditOptions): AuditProblem | undefined {
  const protocol = URL.canParse(url) ? new URL(url).protocol : undefined;
  if (protocol !== "http:" && protocol !== "https:") {
    return {
      code: "URL_INVALID",
      message: "expected an http or https URL",
      hints: ["For example http://127.0.0.1:3000/webhooks"],
    };
  }
  if (scheme === "github") return undefined;
  try {
    parseSecret(secret, "secret");
    if (oldSecret !== undefined) parseSecret(oldSecret, "old secret");
    return undefined;
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return { code: "SECRET_INVALID", message, hints: [] };
  }
}

/** Makes sure that there is something to audit, and that its effects can be seen if that was asked for. */
async function prepare(
  targetOptions: TargetOptions,
  options: AuditOptions,
): Promise<{ readonly target: Target } | { readonly problem: AuditProblem }> {
  const target = createTarget(targetOptions);
  const delivery = target.compose();
  try {
    const answer = await target.send(delivery);
    if (!isAcknowledged(answer)) return { problem: await diagnose(target, answer) };
  } catch (error) {
    if (error instanceof UnreachableError) return { problem: unreachableProblem(error) };
    throw error;
  }
  if (options.observeUrl === undefined) return { target };
  try {
    const observer: Observer = await createObserver({
      url: options.observeUrl,
      clock: targetOptions.clock,
      fetch: options.fetch ?? fetch,
      requestTimeoutMs: targetOptions.limits.timeoutMs,
      timeoutMs: options.observeTimeoutMs ?? 10_000,
      settleMs: options.observeSettleMs ?? 300,
      knownId: delivery.id,
      unknownId: target.nextId(),
    });
    return { target: createTarget({ ...targetOptions, observer }) };
  } catch (error) {
    if (!(error instanceof ObserverError) && !(error instanceof TypeError)) throw error;
    const hints = [
      'GET <observe-url>?id=<webhook-id> answers { "count": n }, how often the delivery took effect.',
    ];
    return { problem: { code: "OBSERVE_URL", message: error.message, hints } };
  }
}
