import { CallScope } from "../call/call-scope.ts";
import { Failed, type Failure } from "../call/failure.ts";
import type { OperationFacts, OperationKind } from "../call/operation.ts";
import type { Redactor } from "../call/redactor.ts";
import type { Clock } from "../clock.ts";
import { type Reading, readReply } from "./classify-response.ts";
import { type AnswerHead, type Fetch, send } from "./transport.ts";

/** One request and its answer, ended by `timeoutMs` or by the scope of its call, whichever comes first. */
export type Attempt = (request: AttemptRequest) => Promise<AttemptResult>;

export interface AttemptRequest {
  readonly operation: OperationFacts;
  readonly variables: unknown;
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly scope: CallScope;
  /** As what the answer is read; an exchange is a mutation that reads like a query. */
  readonly kind: OperationKind;
}

export interface AttemptResult {
  readonly reading: Reading;
  /** False when the request certainly never left. */
  readonly sent: boolean;
  /** Undefined when nothing was answered. */
  readonly answer: AnswerHead | undefined;
  /** When the headers of the answer came; monotonic. */
  readonly answeredAtMs: number | undefined;
}

export interface AttemptSenderOptions {
  readonly fetch: Fetch;
  readonly clock: Clock;
  readonly redactor: Redactor;
  readonly responseBytesMax: number;
}

export function createAttemptSender({
  fetch,
  clock,
  redactor,
  responseBytesMax,
}: AttemptSenderOptions): Attempt {
  return async ({ operation, variables, url, headers, timeoutMs, scope, kind }) => {
    if (scope.failure) return unanswered(scope.failure, false);
    const limits = new CallScope({ clock, limitMs: timeoutMs, onLimit: timedOut });
    const off = scope.onEnd((failure) => limits.end(failure));
    let answeredAtMs: number | undefined;
    const onHeaders = () => {
      answeredAtMs = clock.monotonic();
    };
    try {
      const sending = send({ operation, variables, url, headers, fetch, responseBytesMax, onHeaders });
      limits.onEnd(sending.stop);
      const reply = await limits.race(sending.reply);
      const reading = readReply(reply, { kind, redactor, nowMs: clock.now() });
      const answer = "answer" in reply ? reply.answer : undefined;
      return { reading, sent: reply.type !== "unsendable", answer, answeredAtMs };
    } catch (error) {
      if (!(error instanceof Failed)) throw error;
      // It was on its way, so nobody can tell how far it got.
      return { ...unanswered({ ...error.failure, outcome: "unknown" }, true), answeredAtMs };
    } finally {
      off();
      limits.dispose();
    }
  };
}

function unanswered(failure: Failure, sent: boolean): AttemptResult {
  return { reading: { ok: false, failure }, sent, answer: undefined, answeredAtMs: undefined };
}

function timedOut(limitMs: number): Failure {
  return {
    code: "REQUEST_TIMEOUT",
    message: `the request took longer than timeoutMs (${limitMs})`,
    outcome: "unknown",
    remedy: "repeat",
  };
}
