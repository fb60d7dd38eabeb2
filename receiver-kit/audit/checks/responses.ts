import type { Answer } from "../target/connection.ts";
import type { Exchange, Target } from "../target/target.ts";
import { type AuditCheck, type Finding, failed, passed } from "./check.ts";
import { describeAnswer, isAcknowledged, isHandled, type Shot } from "./probe-check.ts";

// These look at every answer of the whole run. Bad requests of several kinds are sent once for all of
// them, so that there is something to look at when only one of these checks is asked for.

const timedDeliveries = 10;
const plainAnswer =
  "Answer a refused request with a short, constant text; write the reason to your own log, not to the caller.";

const badRequests = new WeakMap<Target, Promise<readonly Labelled[]>>();
type Labelled = { readonly label: string; readonly answer: Answer };

function sendBadRequests(target: Target): Promise<readonly Labelled[]> {
  const sent = badRequests.get(target) ?? sendEach(target, badRequestsFor(target));
  badRequests.set(target, sent);
  return sent;
}

async function sendEach(target: Target, shots: readonly Shot[]): Promise<readonly Labelled[]> {
  const answers: Labelled[] = [];
  for (const { label = "", delivery, options } of shots) {
    const answer = await target.send(delivery, options);
    answers.push({ label, answer });
    if (answer.kind === "silent") break;
  }
  return answers;
}

function badRequestsFor(target: Target): readonly Shot[] {
  const delivery = target.compose();
  const forged = { ...delivery, signature: target.signForged(delivery) };
  const notJson = target.compose({ body: "{" });
  const { timestamp: timestampHeader } = target.scheme.headerNames;
  const withoutTime = target.scheme.headers(forged).filter(([name]) => name !== timestampHeader);
  return [
    { label: "forged", delivery: forged },
    { label: "without headers", delivery, options: { headers: [] } },
    { label: "garbage for a signature", delivery: { ...delivery, signature: ",,, %" } },
    { label: "garbage for a time", delivery: { ...forged, timestamp: "soon" } },
    { label: "without a time", delivery: forged, options: { headers: withoutTime } },
    { label: "forged and not JSON", delivery: { ...notJson, signature: target.signForged(notJson) } },
    { label: "forged and empty", delivery: { ...forged, body: Buffer.alloc(0) } },
    { label: "forged, as text/plain", delivery: forged, options: { contentType: "text/plain" } },
    { label: "forged, without a type", delivery: forged, options: { contentType: undefined } },
  ];
}

/** Passes when no answer of the run is `bad`; names the kinds of request that got one. */
async function noAnswer(
  target: Target,
  what: string,
  bad: (exchange: Exchange, text: string) => boolean,
): Promise<Finding> {
  await sendBadRequests(target);
  const answered = target.transcript.filter(({ answer }) => answer.kind === "answered");
  const guilty = answered.filter((exchange) => bad(exchange, textOf(exchange.answer)));
  if (guilty.length === 0) return passed(`none of ${answered.length} answers`);
  const statuses = [...new Set(guilty.map(({ answer }) => describeAnswer(answer)))].join(", ");
  return failed(`${what} in ${guilty.length} of ${answered.length} answers (status ${statuses})`);
}

function textOf(answer: Answer): string {
  if (answer.kind !== "answered") return "";
  return [...answer.headers.values(), answer.body.toString("latin1")].join("\n");
}

const stackTrace =
  /\bat .{1,200}:\d+:\d+|Traceback \(most recent call last\)|\.(?:java|kt|go|rb|py|php|cs):\d+|node_modules\//;

export const answerChecks: readonly AuditCheck[] = [
  {
    id: "answers.bad-input-is-4xx",
    requirement: "SHOULD",
    stage: "last",
    title: "answers bad requests with a 4xx",
    sent: "nine bad requests: forged, without headers, with garbage in them, empty, not JSON, of other types",
    expected: "4xx each time, never 3xx or 5xx, never silence",
    mend: "Catch what verifying and reading throw, and answer 400 or 401. A 5xx says that you are broken: it raises alarms, and anybody can cause it.",
    async run(target) {
      const answers = await sendBadRequests(target);
      const wrong = answers.filter(({ answer }) => !isHandled(answer) && answer.kind !== "closed");
      if (wrong.length === 0) return passed(`${answers.length} answers, all 4xx`);
      return failed(wrong.map(({ label, answer }) => `${label}: ${describeAnswer(answer)}`).join("; "));
    },
  },
  {
    id: "answers.no-redirect",
    requirement: "SHOULD",
    stage: "last",
    title: "never redirects",
    sent: "everything sent in this run",
    expected: "no answer with a 3xx status",
    mend: "Register the final URL. A redirect is not followed: the delivery counts as failed and is retried.",
    run: (target) =>
      noAnswer(
        target,
        "a redirect",
        ({ answer }) => answer.kind === "answered" && answer.status >= 300 && answer.status < 400,
      ),
  },
  {
    id: "answers.no-secret",
    requirement: "MUST",
    stage: "last",
    title: "never tells its secret",
    sent: "everything sent in this run",
    expected: "no answer with the secret, as text or in another encoding, in its headers or body",
    mend: plainAnswer,
    run: (target) => noAnswer(target, "the secret", (_, text) => target.reveals(text)),
  },
  {
    id: "answers.no-expected-signature",
    requirement: "MUST",
    stage: "last",
    title: "never tells which signature would have been right",
    sent: "everything sent in this run",
    expected: "no answer with the right signature of what was sent",
    mend: `${plainAnswer} With the expected signature in the answer, a forger sends the same request again and succeeds.`,
    run: (target) =>
      noAnswer(target, "the right signature", ({ delivery }, text) => {
        const right = target.sign(delivery).replace(/^(v1,|sha256=)/, "");
        const bytes = Buffer.from(right, target.scheme.name === "github" ? "hex" : "base64");
        return (["base64", "base64url", "hex"] as const).some((encoding) =>
          text.includes(bytes.toString(encoding)),
        );
      }),
  },
  {
    id: "answers.no-body-echo",
    requirement: "SHOULD",
    stage: "last",
    title: "does not repeat bodies in its answers",
    sent: "everything sent in this run; each sample event carries a word of its own",
    expected: "no answer with that word",
    mend: `${plainAnswer} Answers end up in logs of the sender and of proxies; bodies are about people's taxes.`,
    run: (target) => noAnswer(target, "part of the body", (_, text) => text.includes(target.canary)),
  },
  {
    id: "answers.no-stack-trace",
    requirement: "SHOULD",
    stage: "last",
    title: "does not show its inside in its answers",
    sent: "everything sent in this run",
    expected: "no answer with a stack trace or paths of source files",
    mend: `${plainAnswer} (Express: set NODE_ENV=production, or register an error handler.)`,
    run: (target) => noAnswer(target, "a stack trace", (_, text) => stackTrace.test(text)),
  },
  {
    id: "answers.in-time",
    requirement: "SHOULD",
    stage: "last",
    title: "acknowledges promptly",
    sent: `${timedDeliveries} true deliveries, one after another`,
    expected: "2xx, each within the answer time limit",
    mend: "Store the delivery, acknowledge, work afterwards: a sender that waits too long counts a failure and sends again.",
    async run(target) {
      const answers: Answer[] = [];
      for (let sent = 0; sent < timedDeliveries; sent += 1) answers.push(await target.send(target.compose()));
      const refused = answers.find((answer) => !isAcknowledged(answer));
      if (refused) return failed(describeAnswer(refused));
      const times = answers.map(({ durationMs }) => durationMs).toSorted((a, b) => a - b);
      const [median = 0, slowest = 0] = [times[Math.floor(times.length / 2)], times.at(-1)];
      const received = `median ${Math.round(median)} ms, slowest ${Math.round(slowest)} ms`;
      return slowest <= target.limits.answerTimeMsMax ? passed(received) : failed(received);
    },
  },
];
