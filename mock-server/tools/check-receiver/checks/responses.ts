// These checks review every response of the whole run. Invalid requests of several kinds are sent once for all of
// them, so that there are responses to review when only one of these checks runs.

import {
  type Delivery,
  type RoundTrip,
  signaturePrefix,
  signedHeaders,
  type Target,
} from "../target/target.ts";
import * as probe from "./probe-check.ts";

const timedDeliveries = 10;
const constantText =
  "Respond to a rejected request with a short, constant text; write the reason to your own log, not to the caller.";
const everything = "everything sent in this run";

const forged =
  (change: Partial<Delivery> = {}): probe.Change =>
  (delivery, { signForged }) => ({ signature: signForged(delivery), ...change });

const invalid: probe.Changes = {
  forged: forged(),
  "without headers": () => ({ without: signedHeaders }),
  "malformed signature": () => ({ signature: ",,, %" }),
  "malformed timestamp": forged({ timestamp: "soon" }),
  "without a timestamp": forged({ without: ["timestamp"] }),
  "forged and not JSON": forged({ body: Buffer.from("{") }),
  "forged and empty": forged({ body: Buffer.alloc(0) }),
  "forged, as text/plain": forged({ contentType: "text/plain" }),
  "forged, without a type": forged({ contentType: undefined }),
};

const invalidRequests = new WeakMap<Target, Promise<readonly probe.LabelledResult[]>>();

function sendInvalidRequests(target: Target): Promise<readonly probe.LabelledResult[]> {
  const sent = invalidRequests.get(target) ?? probe.sendChanged(target, invalid);
  invalidRequests.set(target, sent);
  return sent;
}

type ReviewCheck = Omit<probe.CheckTexts, "sent"> & {
  readonly sent?: string;
  readonly what: string;
  readonly bad: (text: string, roundTrip: RoundTrip, target: Target) => boolean;
};

/** A check that passes when no response of the run is `bad`. */
const noResponse = ({ what, bad, ...check }: ReviewCheck): probe.CheckDefinition => ({
  requirement: "SHOULD",
  sent: everything,
  expected: `no response with ${what}`,
  ...check,
  stage: "last",
  async run(target) {
    await sendInvalidRequests(target);
    const responses = target.transcript.filter(({ result }) => result.kind === "response");
    const found = responses.filter((roundTrip) => bad(textOf(roundTrip), roundTrip, target));
    if (found.length === 0) return probe.passed(`none of ${responses.length} responses`);
    const statuses = [...new Set(found.map(({ result }) => probe.describeResult(result)))].join(", ");
    return probe.failed(`${what} in ${found.length} of ${responses.length} responses (status ${statuses})`);
  },
});

function textOf({ result }: RoundTrip): string {
  if (result.kind !== "response") return "";
  return [...result.headers.values(), result.body.toString("latin1")].join("\n");
}

const stackTrace =
  /\bat .{1,200}:\d+:\d+|Traceback \(most recent call last\)|\.(?:java|kt|go|rb|py|php|cs):\d+|node_modules\//;

export const responseChecks: probe.CheckTable = {
  "responses.bad-input-is-4xx": {
    requirement: "SHOULD",
    stage: "last",
    title: "responds to invalid requests with a 4xx",
    unverified: "skipped",
    sent: "nine invalid requests: forged, without headers, with malformed headers, empty, not JSON, of other types",
    expected: "4xx each time, never 3xx, 5xx or a timeout",
    fix: "Catch errors of verifying and reading, and respond 400 or 401. A 5xx reports a fault of yours: it raises alarms, and any caller can cause it.",
    async run(target) {
      const results = await sendInvalidRequests(target);
      const wrong = results.filter(({ result }) => !probe.isHandled(result) && result.kind !== "closed");
      if (wrong.length === 0) return probe.passed(`${results.length} responses, all 4xx`);
      return probe.failed(wrong.map(probe.describeLabelled).join("; "));
    },
  },
  "responses.no-redirect": noResponse({
    title: "never redirects",
    fix: "Register the final URL. A redirect is not followed: the delivery counts as failed and is retried.",
    what: "a 3xx status",
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
    fix: `${constantText} With the correct signature from the response, a forger sends the same request again and succeeds.`,
    what: "the correct signature of its request",
    bad(text, { delivery }, { sign }) {
      const bytes = Buffer.from(sign(delivery).slice(signaturePrefix.length), "base64");
      const encodings = ["base64", "base64url", "hex"] as const;
      return encodings.some((encoding) => text.includes(bytes.toString(encoding)));
    },
  }),
  "responses.no-body-echo": noResponse({
    title: "does not repeat bodies in its responses",
    sent: `${everything}; each sample event contains a random word`,
    expected: "no response with that word",
    fix: `${constantText} Responses end up in logs of the sender and of proxies; bodies are about people's taxes.`,
    what: "part of the body",
    bad: (text, _, { canary }) => text.includes(canary),
  }),
  "responses.no-stack-trace": noResponse({
    title: "does not reveal its source code in its responses",
    fix: `${constantText} (Express: set NODE_ENV=production, or register an error handler.)`,
    what: "a stack trace or paths of source files",
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
      const times: number[] = [];
      while (times.length < timedDeliveries) {
        const result = await target.send(target.compose());
        if (!probe.isAcknowledged(result)) return probe.failed(probe.describeResult(result));
        times.push(result.durationMs);
      }
      times.sort((a, b) => a - b);
      const [median = 0, slowest = 0] = [times[timedDeliveries / 2], times.at(-1)];
      const received = `median ${Math.round(median)} ms, slowest ${Math.round(slowest)} ms`;
      return probe.passedIf(slowest <= target.responseTimeMsMax, received);
    },
  },
};
