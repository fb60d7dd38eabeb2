// Writes docs/receiver-reports.md: check-receiver against receivers written as the documentation of libraries suggests.
// Run it with: npx tsx --conditions=workspace-tasks-source scripts/receiver-reports.ts
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type AuditProblem, type AuditResult, auditChecks } from "workspace-tasks/receiver-kit/audit";
import { audit } from "../receiver-kit/audit/audit-receiver.ts";
import { type Signing, standardWebhooks } from "../receiver-kit/audit/target/signing.ts";
import { appliesToGithub, githubSigning } from "../test/support/receivers/github-signing.ts";
import type { RunningReceiver } from "../test/support/receivers/running-receiver.ts";
import {
  findPython,
  type ReceiverName,
  serveInProcess,
  startPythonReceiver,
} from "../test/support/receivers/served-receiver.ts";
import { markdownTable } from "./markdown-table.ts";

const root = join(import.meta.dirname, "..");
const secret = `whsec_${Buffer.alloc(32, 0x5a).toString("base64")}`;
const oldSecret = `whsec_${Buffer.alloc(32, 0x6b).toString("base64")}`;
const stillResponding = "baseline.still-responding";

interface Subject {
  readonly column: string;
  readonly about: string;
  readonly command: string;
  readonly comment: string;
  /** Absent for Standard Webhooks. */
  readonly signing?: Signing;
  /** Given to receivers that can hold two. */
  readonly oldSecret?: string;
  readonly start: () => Promise<RunningReceiver>;
}

type Result = Pick<AuditResult, "outcome" | "received" | "responsesOnly"> & { readonly fatal?: boolean };
type Results = ReadonlyMap<string, Result>;

const installed = (name: string): string =>
  JSON.parse(readFileSync(join(root, "node_modules", name, "package.json"), "utf8")).version;

const serve = "node --conditions=workspace-tasks-source --import tsx test/support/receivers/serve.ts";

function served(
  name: ReceiverName,
  rest: Pick<Subject, "column" | "about" | "comment"> & Partial<Subject>,
): Subject {
  return {
    command: `${serve} ${name} <secret>`,
    start: () => serveInProcess(name, secret),
    ...rest,
  };
}

const express = `express ${installed("express")}`;
const python = findPython();

const subjects: readonly Subject[] = [
  served("kit", {
    column: "this kit",
    oldSecret,
    command: `${serve} kit <secret> <old secret>`,
    start: () => serveInProcess("kit", secret, oldSecret),
    about: `\`webhookMiddleware(createReceiver({ … }))\` of this package, ${express}`,
    comment:
      "check-receiver and this receiver come from one project, so a misunderstanding in both would not show. The other receivers, and one in the tests that shares no code with the kit, guard against that.",
  }),
  served("express-standardwebhooks", {
    column: "standardwebhooks",
    about: `standardwebhooks ${installed("standardwebhooks")} under ${express}, \`express.raw({ type: "application/json" })\`, as its readme suggests: one call of \`verify\`, 400 when it throws`,
    comment:
      "Every forged signature is rejected: what is accepted beyond the strict reading needs a correct signature of nearly the same text. The library hashes the body as text, so different invalid bytes share one signature, and it parses timestamps and header lists leniently. It leaves ids to the application, and the readme's example stores none. The content types, gzip, the limit of 100 KB, reading rejected bodies to their end and the stack trace are defaults of Express (`NODE_ENV=production` removes the trace).",
  }),
  served("express-svix", {
    column: "svix",
    about: `svix ${installed("svix")} under ${express}, as its documentation shows for Express: \`express.raw\` on the route, 400 when \`verify\` throws`,
    comment:
      "The same library underneath, and the same defaults of Express. In addition its svix-… headers, where present, take precedence over webhook-… headers. The signature is checked either way, but an application that takes the id from the other family deduplicates by an unsigned id.",
  }),
  served("octokit", {
    column: "octokit",
    about: `@octokit/webhooks ${installed("@octokit/webhooks")}, \`createNodeMiddleware\` on Node's server, as its readme suggests`,
    signing: githubSigning,
    comment:
      "It verifies GitHub's signatures, which have no timestamp and do not sign the id, so the checks of those do not apply, and replays cannot be recognized by their age. It decodes the body to text before hashing. It puts no limit on bodies; a proxy in front of it may. Nine seconds after a request began it responds 202, verified or not, so a stalled body is acknowledged; mounted behind `express.json()` it waits for a body that was read already, acknowledges every delivery that way, forged or valid, and runs no handler (a test shows it). The check that ends its process needs a correctly signed body, so only the sender could do it, and GitHub sends objects only. The command line cannot send such signatures; `scripts/receiver-reports.ts` does.",
  }),
  ...("version" in python
    ? [
        {
          column: "python",
          about: `a receiver on the standard library of ${python.version}, \`test/support/receivers/python_receiver.py\``,
          command: "python3 test/support/receivers/python_receiver.py <secret> 10",
          comment:
            "Written for the tests with the checks in mind, to show that check-receiver works with any language.",
          start: () => startPythonReceiver(secret, 10),
        } as const,
      ]
    : []),
];

/** Checks a receiver; where a check ends its process, finds out which, and continues without it in a new one. */
async function resultsOf(subject: Subject): Promise<Results> {
  const results = new Map<string, Result>();
  const applies = subject.signing === githubSigning ? appliesToGithub : () => true;
  let ids = auditChecks.filter(applies).map(({ id }) => id);
  for (;;) {
    const report = await run(subject, ids);
    if (report.problem) throw new Error(`${report.problem.code}: ${report.problem.message}`);
    if (!report.stoppedDuring) {
      for (const result of report.results) results.set(result.id, result);
      return results;
    }
    for (const id of report.stoppedDuring) {
      const alone = await run(subject, [id, stillResponding]);
      const [result] = alone.results;
      if (!alone.stoppedDuring || !result) continue;
      results.set(id, { outcome: "failed", received: `${result.received}; the process ended`, fatal: true });
      ids = ids.filter((each) => each !== id);
    }
  }
}

async function run({ start, signing = standardWebhooks, oldSecret }: Subject, only: readonly string[]) {
  await using receiver = await start();
  const { url, observeUrl } = receiver;
  // Awaited here: the receiver ends with this block.
  return await audit({ url, secret, oldSecret, observeUrl, only }, signing);
}

/** Exit code 1: the receiver did not acknowledge a valid delivery. */
const failures = {
  NO_RESPONSE: "no response in time; whether it responds later, or to text/plain, is tried",
  CLOSED: "the connection was closed without a response",
  NOT_FOUND: "404: there is no such path",
  WRONG_ROUTE: "405: the path does not take POST",
  REDIRECTED: "3xx: a redirect is not followed; the report names its target",
  REJECTED: "another 4xx",
  SERVER_ERROR: "5xx",
} as const satisfies Partial<Record<AuditProblem["code"], string>>;

/** Exit code 2: there is no receiver to check. */
const obstacles = {
  UNREACHABLE: "no connection: nothing listens, the name is unknown, or the certificate is not trusted",
  NOT_HTTP: "the server does not speak HTTP",
  OBSERVE_URL:
    "the observe URL does not return the expected JSON, or counts no effect of an acknowledged delivery",
  STOPPED: "stopped, or out of time, before the first response",
} as const satisfies Record<Exclude<AuditProblem["code"], keyof typeof failures>, string>;

const allResults: Results[] = [];
for (const subject of subjects) {
  console.log(`checking ${subject.column} …`);
  allResults.push(await resultsOf(subject));
}
writeFileSync(join(root, "docs", "receiver-reports.md"), document());
console.log("wrote docs/receiver-reports.md");

function document(): string {
  return `# Reports on receivers

<!-- Written by scripts/receiver-reports.ts; do not edit by hand. -->

Receivers written as the documentation of widely used libraries suggests, and this kit's, under the ${auditChecks.length} checks of
\`workspace-tasks check-receiver\`, which attacks a receiver over HTTP. Node ${process.versions.node}, ${new Date().toISOString().slice(0, 10)}.

${markdownTable(
  ["receiver", "MUST", "SHOULD"],
  subjects.map(({ column }, index) => [column, counted(index, "MUST"), counted(index, "SHOULD")]),
)}

A MUST follows from the interface (§6) or from what a forger, or a person who captured a delivery, could do; a SHOULD is
robustness. This does not mean that the libraries are bad: they reject every forged signature and leave the rest to the
application, while check-receiver tests the whole receiver. What each failed check sends and expects is in
[every check](#every-check).

To reproduce a report, run the commands of its section in a clone after \`npm run build\`: the first prints the two URLs for
the second. \`echo "whsec_$(openssl rand -base64 32)"\` makes a secret.

${subjects.map(section).join("\n\n")}

## Every check

✓ passed · ○ correct responses, the effects could not be observed · ✗ failed · ✗✗ failed and ended the process · – does not apply (another kind of signature, or no second secret given)

${markdownTable(
  ["check", "", ...subjects.map(({ column }) => column), "a correct receiver", "sent", "expected"],
  auditChecks.map(({ id, requirement, title, sent, expected }) => [
    id,
    requirement,
    ...allResults.map((each) => markOf(each.get(id))),
    cell(title),
    cell(sent),
    cell(expected),
  ]),
)}

## When a valid delivery is not acknowledged

Then \`baseline.valid-delivery\` fails, no other check runs, the exit code is 1, and \`problem\` of the report has one of
these codes. After a CLOSED, REJECTED or SERVER_ERROR, check-receiver sends deliveries that are valid for a receiver
with one of the usual mistakes: the text of the secret as key, a body that was serialized again or has a newline added,
other header names, other signed contents or formats, another clock, unit or time zone, the old secret, a body parser in
front. The fix names the mistake whose delivery was acknowledged.

${markdownTable(["code", "the response"], Object.entries(failures))}

## When check-receiver could not run

The exit code is 2, and the reason is on stderr.

${markdownTable(["code", "meaning"], Object.entries(obstacles))}
`;
}

function section(
  { column, about, command, signing, comment, oldSecret: old }: Subject,
  index: number,
): string {
  const option = old ? " --old-secret <old secret>" : "";
  const check = `npx workspace-tasks check-receiver <url> --secret <secret> --observe-url <observeUrl>${option}`;
  const failures = auditChecks.filter(({ id }) => allResults[index]?.get(id)?.outcome === "failed");
  const findings = failures.map(({ id, requirement }) => [
    id,
    requirement,
    cell(allResults[index]?.get(id)?.received ?? ""),
  ]);
  const columns = ["failed check", "", "received"];
  return `## ${column}

${about}.

\`\`\`sh
${[command, ...(signing ? [] : [check])].join("\n")}
\`\`\`

${comment}

${failures.length === 0 ? "No failure." : markdownTable(columns, findings)}`;
}

function counted(index: number, requirement: "MUST" | "SHOULD"): string {
  const outcomes = auditChecks
    .filter((check) => check.requirement === requirement)
    .map(({ id }) => allResults[index]?.get(id)?.outcome);
  const count = (wanted: string) => outcomes.filter((outcome) => outcome === wanted).length;
  const applicable = outcomes.filter((outcome) => outcome !== undefined && outcome !== "skipped").length;
  const skipped = outcomes.length - applicable;
  return `${count("passed")} passed, ${count("failed")} failed${skipped === 0 ? "" : `, ${skipped} do not apply`}`;
}

function markOf(result: Result | undefined): string {
  if (result?.fatal) return "✗✗";
  if (result?.responsesOnly) return "○";
  return { passed: "✓", failed: "✗", skipped: "–", unfinished: "?" }[result?.outcome ?? "skipped"];
}

/** Measured times differ between runs; the page must not change for them. */
function cell(text: string): string {
  return text.replaceAll(/\b\d+ ms\b(?! apart)/g, "… ms").replaceAll("\u00a0", " ");
}
