// These checks review every response of the whole run. Invalid requests of several kinds are sent once for all of
// them, so that there are responses to review when only one of these checks runs.

import type { ProbeResult } from "../target/connection.ts";
import type { RoundTrip, Target } from "../target/target.ts";
import { type CheckDefinition, type CheckTable, type Finding, failed, passed, passedIf } from "./check.ts";
import {
  describeResult,
  isAcknowledged,
  isHandled,
  type LabelledResult,
  type Probe,
  sendProbes,
} from "./probe-check.ts";

const timedDeliveries = 10;
const constantText =
  "Respond to a rejected request with a short, constant text; write the reason to your own log, not to the caller.";
const everything = "everything sent in this run";

const invalidRequests = new WeakMap<Target, Promise<readonly LabelledResult[]>>();

function sendInvalidRequests(target: Target): Promise<readonly LabelledResult[]> {
  const sent = invalidRequests.get(target) ?? sendEach(target, invalidProbes(target));
  invalidRequests.set(target, sent);
  return sent;
}

async function sendEach(target: Target, probes: readonly Probe[]): Promise<readonly LabelledResult[]> {
  const results: LabelledResult[] = [];
  for await (const result of sendProbes(target, probes)) results.push(result);
  return results;
}

function invalidProbes(target: Target): readonly Probe[] {
  const delivery = target.compose();
  const forged = { ...delivery, signature: target.signForged(delivery) };
  const { timestamp: timestampHeader } = target.signing.headerNames;
  const withoutTime = target.signing.headers(forged).filter(([name]) => name !== timestampHeader);
  return [
    { label: "forged", delivery: forged },
    { label: "without headers", delivery, options: { headers: [] } },
    { label: "malformed signature", delivery: { ...delivery, signature: ",,, %" } },
    { label: "malformed timestamp", delivery: { ...forged, timestamp: "soon" } },
    { label: "without a timestamp", delivery: forged, options: { headers: withoutTime } },
    { label: "forged and not JSON", delivery: target.forge({ body: "{" }) },
    { label: "forged and empty", delivery: { ...forged, body: Buffer.alloc(0) } },
    { label: "forged, as text/plain", delivery: forged, options: { contentType: "text/plain" } },
    { label: "forged, without a type", delivery: forged, options: { contentType: undefined } },
  ];
}

/** A check that passes when no response of the run is `bad`. */
function noResponse({
  what,
  bad,
  ...check
}: Pick<CheckDefinition, "requirement" | "title" | "expected" | "fix"> & {
  readonly sent?: string;
  readonly what: string;
  readonly bad: (text: string, roundTrip: RoundTrip, target: Target) => boolean;
}): CheckDefinition {
  return {
    sent: everything,
    ...check,
    stage: "last",
    async run(target): Promise<Finding> {
      await sendInvalidRequests(target);
      const responses = target.transcript.filter(({ result }) => result.kind === "response");
      const found = responses.filter((roundTrip) => bad(textOf(roundTrip.result), roundTrip, target));
      if (found.length === 0) return passed(`none of ${responses.length} responses`);
      const statuses = [...new Set(found.map(({ result }) => describeResult(result)))].join(", ");
      return failed(`${what} in ${found.length} of ${responses.length} responses (status ${statuses})`);
    },
  };
}

function textOf(result: ProbeResult): string {
  if (result.kind !== "response") return "";
  return [...result.headers.values(), result.body.toString("latin1")].join("\n");
}

const stackTrace =
  /\bat .{1,200}:\d+:\d+|Traceback \(most recent call last\)|\.(?:java|kt|go|rb|py|php|cs):\d+|node_modules\//;

export const responseChecks: CheckTable = {
  "responses.bad-input-is-4xx": {
    requirement: "SHOULD",
    stage: "last",
    title: "responds to invalid requests with a 4xx",
    sent: "nine invalid requests: forged, without headers, with malformed headers, empty, not JSON, of other types",
    expected: "4xx each time, never 3xx, 5xx or a timeout",
    fix: "Catch errors of verifying and reading, and respond 400 or 401. A 5xx reports a fault of yours: it raises alarms, and any caller can cause it.",
    async run(target) {
      const results = await sendInvalidRequests(target);
      const wrong = results.filter(({ result }) => !isHandled(result) && result.kind !== "closed");
      if (wrong.length === 0) return passed(`${results.length} responses, all 4xx`);
      return failed(wrong.map(({ label, result }) => `${label}: ${describeResult(result)}`).join("; "));
    },
  },
  "responses.no-redirect": noResponse({
    requirement: "SHOULD",
    title: "never redirects",
    expected: "no response with a 3xx status",
    fix: "Register the final URL. A redirect is not followed: the delivery counts as failed and is retried.",
    what: "a redirect",
    bad: (_, { result }) => result.kind === "response" && result.status >= 300 && result.status < 400,
  }),
  "responses.no-secret": noResponse({
    requirement: "MUST",
    title: "never reveals its secret",
    expected: "no response with the secret, as text or in another encoding, in its headers or body",
    fix: constantText,
    what: "the secret",
    bad: (text, _, target) => target.reveals(text),
  }),
  "responses.no-expected-signature": noResponse({
    requirement: "MUST",
    title: "never reveals the correct signature",
    expected: "no response with the correct signature of its request",
    fix: `${constantText} With the correct signature from the response, a forger sends the same request again and succeeds.`,
    what: "the correct signature",
    bad(text, { delivery }, { signing, sign }) {
      const bytes = Buffer.from(sign(delivery).slice(signing.prefix.length), signing.encoding);
      const encodings = ["base64", "base64url", "hex"] as const;
      return encodings.some((encoding) => text.includes(bytes.toString(encoding)));
    },
  }),
  "responses.no-body-echo": noResponse({
    requirement: "SHOULD",
    title: "does not repeat bodies in its responses",
    sent: `${everything}; each sample event contains a random word`,
    expected: "no response with that word",
    fix: `${constantText} Responses end up in logs of the sender and of proxies; bodies are about people's taxes.`,
    what: "part of the body",
    bad: (text, _, { canary }) => text.includes(canary),
  }),
  "responses.no-stack-trace": noResponse({
    requirement: "SHOULD",
    title: "does not reveal its source code in its responses",
    expected: "no response with a stack trace or paths of source files",
    fix: `${constantText} (Express: set NODE_ENV=production, or register an error handler.)`,
    what: "a stack trace",
    bad: (text) => stackTrace.test(text),
  }),
  "responses.in-time": {
    requirement: "SHOULD",
    stage: "last",
    title: "acknowledges promptly",
    sent: `${timedDeliveries} valid deliveries, one after another`,
    expected: "2xx, each within the response time limit",
    fix: "Store the delivery, acknowledge it, process it afterwards: a sender that waits too long counts a failure and sends again.",
    async run(target) {
      const results: ProbeResult[] = [];
      for (let sent = 0; sent < timedDeliveries; sent += 1) results.push(await target.send(target.compose()));
      const rejected = results.find((result) => !isAcknowledged(result));
      if (rejected) return failed(describeResult(rejected));
      const times = results.map(({ durationMs }) => durationMs).toSorted((a, b) => a - b);
      const [median = 0, slowest = 0] = [times[Math.floor(times.length / 2)], times.at(-1)];
      const received = `median ${Math.round(median)} ms, slowest ${Math.round(slowest)} ms`;
      return passedIf(slowest <= target.limits.responseTimeMsMax, received);
    },
  },
};
