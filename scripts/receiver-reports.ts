// Writes docs/receiver-reports.md: the audit run against receivers as documentation suggests to write them.
// Run it with: npx tsx --conditions=workspace-tasks-source scripts/receiver-reports.ts
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import {
  type AuditProblem,
  type AuditResult,
  auditChecks,
  auditReceiver,
  type SchemeName,
} from "workspace-tasks/receiver-kit/audit";
import type { RunningReceiver } from "../test/support/receivers/running-receiver.ts";
import {
  findPython,
  type ReceiverName,
  serveInProcess,
  startPythonReceiver,
} from "../test/support/receivers/served-receiver.ts";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const secret = `whsec_${Buffer.alloc(32, 0x5a).toString("base64")}`;
const oldSecret = `whsec_${Buffer.alloc(32, 0x6b).toString("base64")}`;
const stillAnswering = "baseline.still-answering";

type Subject = {
  readonly column: string;
  readonly about: string;
  readonly command: string;
  readonly scheme: SchemeName;
  readonly comment: string;
  /** Given to receivers that can hold two. */
  readonly oldSecret?: string;
  readonly start: () => Promise<RunningReceiver>;
};

type Judged = Pick<AuditResult, "outcome" | "received" | "answersOnly"> & { readonly fatal?: boolean };
type Verdicts = ReadonlyMap<string, Judged>;

const installed = (name: string): string =>
  JSON.parse(readFileSync(join(root, "node_modules", name, "package.json"), "utf8")).version;

const serve = "node --conditions=workspace-tasks-source --import tsx test/support/receivers/serve.ts";

function served(
  name: ReceiverName,
  rest: Pick<Subject, "column" | "about" | "comment"> & Partial<Subject>,
): Subject {
  return {
    scheme: "standard-webhooks",
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
      "The audit and this receiver come from one project, so a common misunderstanding could pass. The other receivers, and the careful one in the tests that shares no code with the kit, are there to keep the audit honest.",
  }),
  served("express-standardwebhooks", {
    column: "standardwebhooks",
    about: `standardwebhooks ${installed("standardwebhooks")} under ${express}, \`express.raw({ type: "application/json" })\`, as its readme suggests: one call of \`verify\`, 400 when it throws`,
    comment:
      "Every forged signature is refused: what is accepted beyond the strict reading needs a true signature of nearly the same text. The library hashes the body as text, so different invalid bytes share one signature, and it reads timestamps and header lists leniently. It leaves ids to the application, and the readme's example keeps none. The content types, gzip, the limit of 100 KB, reading what it refuses to its end and the stack trace are defaults of Express (the trace goes away with `NODE_ENV=production`).",
  }),
  served("express-svix", {
    column: "svix",
    about: `svix ${installed("svix")} under ${express}, as its documentation shows for Express: \`express.raw\` on the route, 400 when \`verify\` throws`,
    comment:
      "The same library underneath, and the same defaults of Express. In addition its svix-… headers, where present, win over webhook-… headers. The signature is checked either way, but an application that takes the id from the other family deduplicates by an id that nobody signed.",
  }),
  served("octokit", {
    column: "octokit",
    about: `@octokit/webhooks ${installed("@octokit/webhooks")}, \`createNodeMiddleware\` on Node's server, as its readme suggests`,
    scheme: "github",
    comment:
      "It speaks GitHub's scheme, which has no timestamp and does not sign the id, so nothing about those applies, and replays cannot be told by their age. It decodes the body to text before hashing. It puts no limit on bodies; a proxy in front of it may. Nine seconds after a request began it answers 202, verified or not, so a body that stalls is acknowledged; mounted behind `express.json()` it waits for a body that was read already, acknowledges every delivery that way, forged or true, and runs no handler (a test shows it). The check that ends its process needs a rightly signed body, so only the sender could do it, and GitHub sends objects only.",
  }),
  ...("version" in python
    ? [
        {
          column: "python",
          about: `a receiver on the standard library of ${python.version}, \`test/support/receivers/python_receiver.py\``,
          command: "python3 test/support/receivers/python_receiver.py <secret> 10",
          scheme: "standard-webhooks",
          comment:
            "Written for the tests with the checks in mind, to show that the audit is not about one language.",
          start: () => startPythonReceiver(secret, 10),
        } as const,
      ]
    : []),
];

/** Audits a receiver; where a check ends its process, finds out which, and goes on without it in a new one. */
async function judge(subject: Subject): Promise<Verdicts> {
  const judged = new Map<string, Judged>();
  let ids = auditChecks.map(({ id }) => id);
  for (;;) {
    const report = await audit(subject, ids);
    if (report.problem) throw new Error(`${report.problem.code}: ${report.problem.message}`);
    if (!report.stoppedDuring) {
      for (const result of report.results) judged.set(result.id, result);
      return judged;
    }
    for (const id of report.stoppedDuring) {
      const alone = await audit(subject, [id, stillAnswering]);
      const [result] = alone.results;
      if (!alone.stoppedDuring || !result) continue;
      judged.set(id, { outcome: "failed", received: `${result.received}; the process ended`, fatal: true });
      ids = ids.filter((each) => each !== id);
    }
  }
}

async function audit({ start, scheme, oldSecret }: Subject, only: readonly string[]) {
  await using receiver = await start();
  const { url, observeUrl } = receiver;
  // Awaited here: the receiver ends with this block.
  return await auditReceiver({ url, secret, oldSecret, observeUrl, scheme, only });
}

const problems: Readonly<Record<AuditProblem["code"], string>> = {
  URL_INVALID: "the URL is neither http nor https",
  SECRET_INVALID: "the secret cannot be right; the message names the mistake, not the secret",
  UNREACHABLE: "no connection: nothing listens, the name is unknown, or the certificate is not trusted",
  NO_ANSWER: "a valid delivery got no answer in time",
  CLOSED: "the connection was closed without an answer",
  NOT_HTTP: "something else than HTTP answered",
  NOT_FOUND: "404: the path is another one",
  WRONG_ROUTE: "405: the path does not take POST",
  REDIRECTED: "3xx: a redirect is not followed",
  REFUSED:
    "another 4xx; near misses are tried (other secrets, other headers, another clock, a body parser in front) and the one that passes is named",
  SERVER_ERROR: "5xx to a valid delivery; near misses are tried as well",
  OBSERVE_URL:
    "the observe URL does not answer as it should, or counts no effect of an acknowledged delivery",
};

const verdicts: Verdicts[] = [];
for (const subject of subjects) {
  console.log(`auditing ${subject.column} …`);
  verdicts.push(await judge(subject));
}
writeFileSync(join(root, "docs", "receiver-reports.md"), document());
console.log("wrote docs/receiver-reports.md");

function document(): string {
  return `# Reports on receivers

<!-- Written by scripts/receiver-reports.ts; do not edit by hand. -->

\`workspace-tasks check-receiver\` attacks a webhook receiver over HTTP with ${auditChecks.length} checks and reports how it
answers. This page is what it says about this kit's receiver and about receivers written as the documentation
of widely used libraries suggests, on Node ${process.versions.node}, ${new Date().toISOString().slice(0, 10)}.

What the page does not say: that those libraries are bad. They refuse every forged signature and leave the rest to the
application, while the audit judges the whole receiver; and examples are short because they are examples. A
MUST follows from the interface (§6) or from what a forger, or whoever captured a delivery, could do with it; a
SHOULD is robustness.

Each finding can be reproduced with the two commands of its section, in a clone of this repository after
\`npm run build\`: the first prints the two URLs that the second takes. A secret is made with
\`echo "whsec_$(openssl rand -base64 32)"\`.

| receiver | MUST | SHOULD |
|---|---|---|
${subjects.map((subject, index) => `| ${subject.column} | ${counted(index, "MUST")} | ${counted(index, "SHOULD")} |`).join("\n")}

${subjects.map(section).join("\n\n")}

## Every check

✓ holds · ○ the answers were right, the effects could not be seen · ✗ fails · ✗✗ fails and ends the process · – does not apply (another scheme, or no second secret given)

| check | | ${subjects.map(({ column }) => column).join(" | ")} |
|---|---|${subjects.map(() => "---|").join("")}
${auditChecks.map(({ id, requirement }) => `| ${id} | ${requirement} | ${verdicts.map((each) => markOf(each.get(id))).join(" | ")} |`).join("\n")}

## When an audit cannot be made

The valid delivery has to be acknowledged first; when it is not, the audit ends with exit code 2 and says why.

| code | meaning |
|---|---|
${Object.entries(problems)
  .map(([code, meaning]) => `| ${code} | ${meaning} |`)
  .join("\n")}

## What the checks send

| check | a good receiver | what is sent | what is expected |
|---|---|---|---|
${auditChecks.map(({ id, title, sent, expected }) => `| ${id} | ${cell(title)} | ${cell(sent)} | ${cell(expected)} |`).join("\n")}
`;
}

function section(
  { column, about, command, scheme, comment, oldSecret: old }: Subject,
  index: number,
): string {
  const option = scheme === "github" ? " --scheme github" : old ? " --old-secret <old secret>" : "";
  const failures = auditChecks.filter(({ id }) => verdicts[index]?.get(id)?.outcome === "failed");
  const findings = failures.map(({ id, requirement, title, expected }) => {
    const received = verdicts[index]?.get(id)?.received ?? "";
    return `| ${id} | ${requirement} | ${cell(title)} | ${cell(expected)} | ${cell(received)} |`;
  });
  const table = ["| check | | a good receiver | expected | received |", "|---|---|---|---|---|", ...findings];
  return `## ${column}

${about}.

\`\`\`sh
${command}
npx workspace-tasks check-receiver <url> --secret <secret> --observe-url <observeUrl>${option}
\`\`\`

${comment}

${failures.length === 0 ? "No finding." : table.join("\n")}`;
}

function counted(index: number, requirement: "MUST" | "SHOULD"): string {
  const outcomes = auditChecks
    .filter((check) => check.requirement === requirement)
    .map(({ id }) => verdicts[index]?.get(id)?.outcome);
  const count = (wanted: string) => outcomes.filter((outcome) => outcome === wanted).length;
  const skipped = count("skipped");
  return `${count("passed")} hold, ${count("failed")} fail${skipped === 0 ? "" : `, ${skipped} do not apply`}`;
}

function markOf(judged: Judged | undefined): string {
  if (judged?.fatal) return "✗✗";
  if (judged?.answersOnly) return "○";
  return { passed: "✓", failed: "✗", skipped: "–", unfinished: "?" }[judged?.outcome ?? "unfinished"];
}

/** Times differ between runs and machines; the page must not change for them. */
function cell(text: string): string {
  return text
    .replaceAll(/\b\d+ ms\b(?! apart)/g, "… ms")
    .replaceAll("|", "\\|")
    .replaceAll("\u00a0", " ");
}
