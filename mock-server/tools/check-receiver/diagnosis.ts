import { connectHints } from "../connection-errors.ts";
import { bodyParserInFront, findCause, nearMisses } from "./near-misses.ts";
import type { AuditProblem } from "./result.ts";
import { bounded } from "./run-checks.ts";
import type { ProbeResult } from "./target/connection.ts";
import { ObserverError, UnfinishedError, UnreachableError } from "./target/errors.ts";
import type { Target } from "./target/target.ts";

type ReceivedResponse = Extract<ProbeResult, { kind: "response" }>;

interface Diagnosis extends AuditProblem {
  /** Tries to find the cause with further deliveries; its sentence then replaces the hints. */
  readonly find?: () => Promise<string | undefined>;
}

/** Explains why the valid delivery was not acknowledged. */
export async function diagnose(target: Target, result: ProbeResult): Promise<AuditProblem> {
  const { find, ...problem } = diagnosisOf(target, result);
  if (!find) return problem;
  try {
    const cause = await bounded(target, find);
    return cause === undefined ? problem : { ...problem, hints: [cause] };
  } catch (error) {
    // The receiver or the run ended meanwhile.
    if (error instanceof UnfinishedError) return problem;
    throw error;
  }
}

function diagnosisOf(target: Target, result: ProbeResult): Diagnosis {
  switch (result.kind) {
    case "response":
      return {
        message: `the receiver responded ${result.status} to a valid delivery`,
        ...ofStatus(target, result),
      };
    case "timeout":
      return {
        code: "NO_RESPONSE",
        message: `the receiver did not respond to a valid delivery within ${target.timeoutMs} ms`,
        hints: [
          "A body parser may have read the body before the webhook handler, which then waits for it: mount the handler before any body parser.",
          "If the handler does its work before responding, store the delivery and respond first.",
        ],
        find: () => waitLonger(target),
      };
    case "closed":
      return {
        code: "CLOSED",
        message: "the receiver closed the connection without a response to a valid delivery",
        hints: ["Read its log: it may have crashed.", "An https receiver closes plain http connections."],
        find: () => findCause(target, nearMisses(target, result)),
      };
    case "not-http":
      return {
        code: "NOT_HTTP",
        message: "the server at this URL does not speak HTTP/1.1",
        hints: ["Check the port, and whether the URL must begin with https."],
      };
  }
}

const usualCauses =
  "It has another secret, or its clock is wrong, or something altered the body or the headers before the signature was checked (a body parser, a proxy).";

const statusHints: Readonly<Record<number, string>> = {
  401: `${usualCauses} Or a proxy or a middleware asks for credentials: exempt the route.`,
  403: `${usualCauses} Or a firewall or a protection against CSRF rejects it: exempt the route.`,
  404: "It has no such path: correct the path of the URL.",
  405: "The route exists, but not for POST: correct path or method.",
  413: "Its limit for bodies is below one kilobyte.",
  415: "It rejects application/json.",
  419: "A protection against CSRF rejects it: exempt the route.",
  429: "It limits the number of requests: lift the limit for check-receiver.",
};

function ofStatus(target: Target, response: ReceivedResponse): Omit<Diagnosis, "message"> {
  const { status } = response;
  const hints = [statusHints[status] ?? usualCauses];
  const find = () => findCauseOfRejection(target, response);
  if (status === 404) return { code: "NOT_FOUND", hints };
  if (status === 405) return { code: "WRONG_ROUTE", hints };
  if (status >= 300 && status < 400) return { code: "REDIRECTED", hints: [redirectHint(target, response)] };
  if (status >= 500) {
    return { code: "SERVER_ERROR", hints: ["Read its log: it failed on a valid delivery."], find };
  }
  return [413, 415, 429].includes(status) ? { code: "REJECTED", hints } : { code: "REJECTED", hints, find };
}

/** Names the location without its query, which may be confidential. */
function redirectHint({ url, reveals }: Target, { headers }: ReceivedResponse): string {
  const location = headers.get("location") ?? "";
  if (!URL.canParse(location, url) || reveals(location)) {
    return "A redirect is not followed: register the final URL.";
  }
  const { origin, pathname } = new URL(location, url);
  return `A redirect is not followed: register the final URL, here ${origin}${pathname}.`;
}

async function findCauseOfRejection(target: Target, response: ReceivedResponse): Promise<string | undefined> {
  const cause = await findCause(target, nearMisses(target, response));
  if (cause !== undefined) return cause;
  const forged = await target.send(target.forge());
  if (forged.kind !== "response" || forged.status === response.status) return undefined;
  return `It responds ${forged.status} to a forged delivery: it accepts the signature of the valid one, and rejects the event. Acknowledge events of tasks and workspaces that you do not know, and read its log.`;
}

async function waitLonger(target: Target): Promise<string | undefined> {
  return target.withConnection(async (connection) => {
    const delivery = target.compose();
    void connection.write(target.request(delivery));
    const inFront = await findCause(target, bodyParserInFront);
    if (inFront !== undefined) return inFront;
    const late = await target.receive(delivery, connection, target.stallTimeoutMs);
    if (late.kind !== "response") return undefined;
    return `It responded ${late.status} after ${Math.round(late.durationMs)} ms. A sender that waits so long counts a failure and sends again: store the delivery, acknowledge it, do the work afterwards.`;
  });
}

/** Explains why a run could not start: no connection, no effects to observe, or it was stopped. */
export function problemOf(error: UnfinishedError): AuditProblem {
  if (error instanceof UnreachableError) {
    const hint = connectHints[error.code];
    return {
      code: "UNREACHABLE",
      message: `could not connect to the receiver (${error.code})`,
      hints: [hint ?? "Check the URL, and that the receiver runs and can be reached from here."],
    };
  }
  const { message } = error;
  if (!(error instanceof ObserverError)) return { code: "STOPPED", message, hints: [] };
  const hint =
    'GET <observe-url>?id=<webhook-id> returns { "count": n }, how often the delivery took effect.';
  return { code: "OBSERVE_URL", message, hints: [hint] };
}
