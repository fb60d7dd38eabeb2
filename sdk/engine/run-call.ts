import type { CallScope } from "../call/call-scope.ts";
import type { CallEvent, Emit } from "../call/diagnostics.ts";
import { Failed, type Failure, toError } from "../call/failure.ts";
import type { OperationFacts } from "../call/operation.ts";
import type { Credential, Credentials } from "../credentials/credentials.ts";
import type { Outcome } from "../errors.ts";
import type { ResolvedOptions } from "../options.ts";
import type { LimiterReference } from "../rate-limit/limiter-registry.ts";
import type { Permit, Ticket } from "../rate-limit/rate-limiter.ts";
import type { Attempt, AttemptResult } from "../request/attempt-sender.ts";
import { backoffMs, type NextStep, nextStep } from "../request/retry-policy.ts";
import type { Routers } from "./routers.ts";

/**
 * The way of one call: token, place in the allowance, request, and whatever the answer asks for. The place is taken
 * after the token is there, because a slot that waits for an exchange is a slot nobody uses; the token is looked at
 * again after the queue, because three minutes are over sooner than a long queue.
 */
export interface Call {
  readonly operation: OperationFacts;
  readonly variables: unknown;
  readonly timeoutMs: number;
  readonly scope: CallScope;
  readonly event: CallEvent;
  readonly startedAtMs: number;
  /** Kept over refusals. */
  place: Place | undefined;
  /** True while a request is on its way. */
  sending: boolean;
  attempts: number;
  retries: number;
  hadFreshToken: boolean;
  queuedMs: number;
  retryAfterSeenMs: number | undefined;
  /** The least certain outcome of the attempts so far. */
  outcome: Outcome;
}

/** Where a call stands in which queue. */
interface Place {
  readonly lease: LimiterReference;
  readonly ticket: Ticket;
}

/** What happened on the way to a result. */
export interface CallMeta {
  /** Requests sent for this call; token exchanges do not count. */
  readonly attempts: number;
  /** Time spent waiting for the allowance. */
  readonly queuedMs: number;
  /** The longest `Retry-After` the service sent during this call. */
  readonly retryAfterSeenMs: number | undefined;
}

export interface CallParts {
  readonly options: ResolvedOptions;
  readonly attempt: Attempt;
  readonly emit: Emit;
  readonly identities: Routers;
  readonly life: CallScope;
}

/** The right to send: with whose token, and against whose allowance. */
interface Admission {
  readonly credential?: Credential;
  readonly permit?: Permit;
}

export function metaOf({ attempts, queuedMs, retryAfterSeenMs }: Call): CallMeta {
  return { attempts, queuedMs, retryAfterSeenMs };
}

/** Resolves to the answer's data. Rejects with a `WorkspaceTasksError`. */
export async function runCall(call: Call, parts: CallParts): Promise<unknown> {
  const { event, scope } = call;
  parts.emit("workspace-tasks:call:start", () => event);
  try {
    const data = await sendUntilSettled(call, parts);
    emitEnd(call, parts, undefined);
    return data;
  } catch (error) {
    if (!(error instanceof Failed)) throw error;
    const outcome = lessCertain(call.outcome, error.failure.outcome);
    const { attempts, operation } = call;
    emitEnd(call, parts, error.failure);
    throw toError({ ...error.failure, outcome }, { attempts, operationName: operation.name });
  } finally {
    scope.dispose();
  }
}

async function sendUntilSettled(call: Call, parts: CallParts): Promise<unknown> {
  const url = parts.identities.urlOf(call.operation.router);
  for (;;) {
    let admission: Admission = {};
    let failure: Failure;
    try {
      admission = await admit(call, parts);
      const result = await sendOnce(call, parts, url, admission);
      if (result.reading.ok) return result.reading.data;
      failure = result.reading.failure;
    } catch (error) {
      if (!(error instanceof Failed)) throw error;
      failure = error.failure;
    }
    await goOn(call, parts, failure, admission);
  }
}

// Nearly always the token is in hand and a slot is free. Then nothing is waited for.
async function admit(call: Call, parts: CallParts): Promise<Admission> {
  const { operation, scope } = call;
  if (scope.failure) throw new Failed(scope.failure);
  if (!operation.authenticated) return {};
  const { credentials, lease } = parts.identities.of(operation.router);
  let credential = credentials.current() ?? (await scope.race(credentials.get()));
  for (;;) {
    const held = lease(credential.keyHash);
    if (!held) return { credential };
    const place = call.place?.lease === held ? call.place : { lease: held, ticket: held.allowance.ticket() };
    call.place = place;
    const permit = held.allowance.take() ?? (await queue(call, parts, place, credentials));
    try {
      const current = credentials.current() ?? (await scope.race(credentials.get()));
      if (current.keyHash === credential.keyHash) return { credential: current, permit };
      // The key was replaced while the call waited, and the new one has its own allowance.
      credential = current;
    } catch (error) {
      permit.unused();
      throw error;
    }
    permit.unused();
  }
}

async function queue(
  call: Call,
  parts: CallParts,
  { lease, ticket }: Place,
  credentials: Credentials,
): Promise<Permit> {
  const release = credentials.keepFresh();
  const permit = await lease.allowance.acquire(ticket, lease.limits, call.scope).finally(release);
  call.queuedMs += permit.queuedMs;
  const { queuedMs } = permit;
  if (queuedMs > 0) parts.emit("workspace-tasks:call:queued", () => ({ ...call.event, queuedMs }));
  return permit;
}

async function sendOnce(
  call: Call,
  parts: CallParts,
  url: URL,
  { credential, permit }: Admission,
): Promise<AttemptResult> {
  const { operation, variables, scope, timeoutMs, event } = call;
  const { kind, router } = operation;
  const common = parts.identities.headersOf(router);
  const headers = credential ? { ...common, authorization: `Bearer ${credential.token}` } : common;
  parts.emit("workspace-tasks:call:attempt", () => ({ ...event, attempt: call.attempts + 1 }));
  call.sending = true;
  const result = await parts.attempt({ operation, variables, url, headers, timeoutMs, scope, kind });
  call.sending = false;
  if (result.sent) call.attempts += 1;
  if (permit) settle(permit, result, call, parts);
  return result;
}

function settle(permit: Permit, result: AttemptResult, call: Call, parts: CallParts): void {
  const { reading, sent, answeredAtMs } = result;
  const failure = reading.ok ? undefined : reading.failure;
  if (failure?.code === "RATE_LIMITED") {
    const { retryAfterMs } = failure;
    const waitMs = permit.refused(retryAfterMs);
    if (call.place) call.place.ticket.refusals += 1;
    const { operationName } = call.event;
    parts.emit("workspace-tasks:rate-limit", () => ({ operationName, retryAfterMs, waitMs }));
  } else if (answeredAtMs !== undefined) permit.answered(answeredAtMs);
  else if (!sent || failure?.outcome === "not_sent") permit.unused();
  else permit.unanswered();
}

/** Returns when the call may try again; throws the failure when it may not. */
async function goOn(call: Call, parts: CallParts, failure: Failure, admission: Admission): Promise<void> {
  noteFailure(call, failure);
  const { credential, permit } = admission;
  const step = parts.life.failure ? fail : stepAfter(call, parts, failure, admission);
  if (step.type === "fail") throw new Failed(failure);
  const delayMs = step.type === "repeat" ? step.delayMs : 0;
  const { code } = failure;
  const attempt = call.attempts;
  const reason = step.type;
  parts.emit("workspace-tasks:call:retry", () => ({ ...call.event, attempt, code, reason, delayMs }));
  if (step.type === "fresh_token" && credential) {
    parts.identities.of(call.operation.router).credentials.invalidate(credential.token);
    call.hadFreshToken = true;
  }
  if (step.type !== "repeat") return;
  if (!permit || failure.code !== "RATE_LIMITED") call.retries += 1;
  await call.scope.sleep(delayMs);
}

const fail: NextStep = { type: "fail" };

function stepAfter(
  call: Call,
  parts: CallParts,
  failure: Failure,
  { credential, permit }: Admission,
): NextStep {
  const { kind, authenticated, name, document } = call.operation;
  const operationKey = name ?? document;
  if (failure.remedy === "fresh_token" && (!authenticated || credential?.denied.has(operationKey)))
    return fail;
  const state = {
    kind,
    retries: call.retries,
    maxRetries: parts.options.maxRetries,
    hadFreshToken: call.hadFreshToken,
    remainingMs: call.scope.remainingMs(),
  };
  const { random } = parts.options;
  // Without a queue to wait in, a refusal is waited for like any other passing failure.
  const isUnpaced = failure.remedy === "wait_for_rate_limit" && !permit;
  const retryAfterMs = failure.retryAfterMs ?? backoffMs(call.retries, random);
  const judged: Failure = isUnpaced ? { ...failure, remedy: "repeat", retryAfterMs } : failure;
  const step = nextStep(judged, state, random);
  // This token is fresh and did not help: the key's owner may not do this. Its next refusal needs no new token.
  if (step.type === "fail" && failure.remedy === "fresh_token") credential?.denied.add(operationKey);
  return step;
}

function noteFailure(call: Call, failure: Failure): void {
  call.outcome = lessCertain(call.outcome, failure.outcome);
  const { retryAfterMs } = failure;
  if (retryAfterMs === undefined || failure.httpStatus === undefined) return;
  call.retryAfterSeenMs = Math.max(call.retryAfterSeenMs ?? 0, retryAfterMs);
}

const certainty: readonly Outcome[] = ["not_sent", "rejected", "unknown"];

function lessCertain(a: Outcome, b: Outcome): Outcome {
  return certainty.indexOf(a) > certainty.indexOf(b) ? a : b;
}

function emitEnd(call: Call, { emit, options }: CallParts, failure: Failure | undefined): void {
  const { event, attempts, queuedMs, startedAtMs } = call;
  emit("workspace-tasks:call:end", () => {
    const durationMs = options.clock.monotonic() - startedAtMs;
    return { ...event, ok: failure === undefined, code: failure?.code, attempts, queuedMs, durationMs };
  });
}
