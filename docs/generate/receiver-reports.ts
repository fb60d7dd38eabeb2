// Writes docs/maintainers/receiver-reports.md: check-receiver against receivers written as the documentation of libraries suggests.
// Run it with: npx tsx --conditions=workspace-tasks-source docs/generate/receiver-reports.ts
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type AuditResult, auditChecks, auditReceiver } from "workspace-tasks/check-receiver";
import { markdownTable } from "../../test/support/documents.ts";
import { type ReceiverName, serveInProcess } from "../../test/support/receivers/served-receiver.ts";

const root = join(import.meta.dirname, "../..");
const secret = `whsec_${Buffer.alloc(32, 0x5a).toString("base64")}`;
const oldSecret = `whsec_${Buffer.alloc(32, 0x6b).toString("base64")}`;
const stillResponding = "baseline.still-responding";

interface Subject {
  /** The argument of test/support/receivers/serve.ts. */
  readonly name: ReceiverName;
  readonly column: string;
  readonly about: string;
  readonly comment: string;
  /** Given to receivers that can hold two. */
  readonly oldSecret?: string;
}

type Result = Pick<AuditResult, "outcome" | "received"> & { readonly fatal?: boolean };
type Results = ReadonlyMap<string, Result>;

const installed = (name: string): string =>
  JSON.parse(readFileSync(join(root, "node_modules", name, "package.json"), "utf8")).version;

const serve = "node --conditions=workspace-tasks-source --import tsx test/support/receivers/serve.ts";

const express = `express ${installed("express")}`;

const subjects: readonly Subject[] = [
  {
    name: "kit",
    column: "this kit",
    oldSecret,
    about: `\`webhookMiddleware(createReceiver({ … }))\` of this package, ${express}`,
    comment:
      "check-receiver and this receiver come from one project. The other receivers guard against a misunderstanding in both.",
  },
  {
    name: "express-standardwebhooks",
    column: "standardwebhooks",
    about: `standardwebhooks ${installed("standardwebhooks")} under ${express}, \`express.raw({ type: "application/json" })\`, 400 when \`verify\` throws, as its readme suggests`,
    comment:
      "It hashes the body as text, so different invalid bytes share a signature, and parses timestamps and lists of signatures leniently. Ids are left to the application; the readme's example stores none. Content types, gzip, the limit of 100 KB and the stack trace are defaults of Express (`NODE_ENV=production` removes the trace).",
  },
  {
    name: "express-svix",
    column: "svix",
    about: `svix ${installed("svix")} under ${express}, as its documentation shows for Express: \`express.raw\` on the route, 400 when \`verify\` throws`,
    comment:
      "As standardwebhooks. Its svix-… headers take precedence over webhook-… headers, so an application that reads the id from the other family deduplicates by an unsigned id.",
  },
];

/** Checks a receiver; where a check ends its process, finds out which, and continues without it in a new one. */
async function resultsOf(subject: Subject): Promise<Results> {
  const results = new Map<string, Result>();
  let ids = auditChecks.map(({ id }) => id);
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

async function run({ name, oldSecret }: Subject, only: readonly string[]) {
  await using receiver = await serveInProcess(name, secret, ...(oldSecret ? [oldSecret] : []));
  const { url, observeUrl } = receiver;
  // Awaited here: the receiver ends with this block.
  return await auditReceiver({ url, secret, oldSecret, observeUrl, only });
}

const allResults: Results[] = [];
for (const subject of subjects) {
  console.log(`checking ${subject.column} …`);
  allResults.push(await resultsOf(subject));
}
writeFileSync(join(root, "docs", "maintainers", "receiver-reports.md"), document());
console.log("wrote docs/maintainers/receiver-reports.md");

function document(): string {
  return `# Reports on receivers

<!-- Written by docs/generate/receiver-reports.ts; do not edit by hand. -->

What popular webhook libraries leave to the application: receivers written as their documentation suggests, and this kit's, under the
${auditChecks.length} checks of \`workspace-tasks check-receiver\`. Node ${process.versions.node}, ${new Date().toISOString().slice(0, 10)}.

${markdownTable(
  ["receiver", "MUST", "SHOULD"],
  subjects.map(({ column }, index) => [column, counted(index, "MUST"), counted(index, "SHOULD")]),
)}

All reject every forged signature. A MUST follows from the interface (§6) or from what an attacker could do; a SHOULD is robustness.

${subjects.map(({ column, about, comment }) => `- **${column}**: ${about}. ${comment}`).join("\n")}

## Checks that fail

All others pass. \`check-receiver\` prints what was sent, expected and received, and the fix.

${markdownTable(
  ["a correct receiver", "", "fails for"],
  auditChecks
    .map(({ id, requirement, title }) => [cell(title), requirement, failuresOf(id)])
    .filter(([, , failures]) => failures !== ""),
)}

## Reproduce a report

In a clone, after \`npm run build\`; \`echo "whsec_$(openssl rand -base64 32)"\` makes a secret. The first command prints the URLs for the second:

<!-- none: the reader chooses the receiver and the secret -->
\`\`\`sh
${serve} <receiver> <secret>   # ${subjects.map(({ name }) => name).join(", ")}
WORKSPACE_TASKS_SIGNING_SECRET=<secret> npx workspace-tasks check-receiver <url> --observe-url <observeUrl>
\`\`\`
`;
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

/** The receivers that fail a check. */
function failuresOf(id: string): string {
  const failing = subjects.flatMap(({ column }, index) => {
    const result = allResults[index]?.get(id);
    if (result?.outcome !== "failed") return [];
    return result.fatal ? `${column}, whose process ended` : column;
  });
  return failing.join(", ");
}

/** Measured times differ between runs; the page must not change for them. */
function cell(text: string): string {
  return text.replaceAll(/\b\d+ ms\b(?! apart)/g, "… ms").replaceAll("\u00a0", " ");
}
