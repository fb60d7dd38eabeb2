import * as cli from "@workspace-tasks/kernel/cli/command-line.ts";
import { lineWidth, renderTable, usesColor } from "@workspace-tasks/kernel/layout.ts";
import { isReceiverError } from "@workspace-tasks/receiver-kit";
import { auditReceiver } from "../check-receiver/audit-receiver.ts";
import { auditChecks } from "../check-receiver/checks/catalog.ts";
import { describedCheck } from "../check-receiver/checks/probe-check.ts";
import {
  type AuditReport,
  exitCodeOf,
  renderJsonReport,
  renderJunitReport,
  renderTextReport,
} from "../check-receiver/report.ts";
import { type AuditOptions, type AuditProgress, auditDefaults } from "../check-receiver/target/target.ts";
import { checkWritable, failuresOf, type Renderers, rendererOf, saveReports } from "./output-file.ts";
import { progressLine, stepOf } from "./progress-line.ts";

const secretVariable = "WORKSPACE_TASKS_SIGNING_SECRET";

const limit = (name: keyof typeof auditDefaults, about: string) =>
  cli.wholeNumber(about, { min: 1, max: 999_999_999, fallback: auditDefaults[name] });

const flags = {
  secret: cli.text("<whsec_…>", `signing secret; better ${secretVariable}, as other users see arguments`),
  oldSecret: cli.text("<whsec_…>", "also test a secret that is in its grace period"),
  observeUrl: cli.text(
    "<url>",
    'returns { "count": n } for ?id=<webhook-id>, optionally { "status": "…" } for ?taskId=<id>',
  ),
  observeTimeoutMs: limit("observeTimeoutMs", "how long an effect may take to show"),
  only: cli.list("<ids>", "ids or subjects, such as signature,timestamp.stale"),
  toleranceSeconds: limit("toleranceSeconds", "the receiver's tolerance for timestamps"),
  timeoutMs: limit("timeoutMs", "time limit for one response"),
  stallTimeoutMs: limit("stallTimeoutMs", "time limit to give up on a stalled body"),
  responseTimeMsMax: limit("responseTimeMsMax", "slowest response not reported"),
  runTimeoutMs: limit("runTimeoutMs", "time limit for the whole run"),
  concurrency: limit("concurrency", "checks that run at the same time"),
  report: cli.repeated("<file>", "also write a report, as .json or as .xml (JUnit); repeatable"),
  verbose: cli.toggle("also print a line for every check"),
  json: cli.toggle("print one JSON document instead of text"),
  list: cli.toggle("list the checks and exit"),
};

const renderers: Renderers<AuditReport> = { ".json": renderJsonReport, ".xml": renderJunitReport };

/** Runs `workspace-tasks check-receiver` and returns its exit code. */
export const runCheckReceiverCommand = cli.defineCommand({
  name: "check-receiver",
  synopsis: "<url> [options]",
  about: `Attacks a webhook receiver, in any language, and reports how it responds. The
deliveries name generated tasks and some of them are correctly signed: do not
run it against production.`,
  flags,
  notes: `Exit code: 0 every MUST passed, 1 a MUST failed, 2 could not run (nothing
listens there, for example), a report could not be written, or wrong arguments.`,
  failureCode: 2,
  async run(args, io) {
    const { list, json, report: paths, verbose, ...options } = args.flags;
    if (list)
      return json
        ? cli.writeData(io, cli.toJson(auditChecks.map(describedCheck)))
        : cli.write(io, listOfChecks(io));
    const url = cli.onlyArgument(args, "one URL");
    const secret = options.secret ?? io.env[secretVariable];
    if (secret === undefined) throw new cli.UsageError(`expected --secret <whsec_…> or ${secretVariable}`);
    for (const path of paths) rendererOf(renderers, path);
    for (const path of paths) await checkWritable("--report", path);
    const progress = progressLine(io, "check-receiver", "waiting for the response to a valid delivery");
    const onProgress = ({ done, total, id }: AuditProgress) =>
      progress.show(() => `${stepOf(done, total)} ${id}`);
    const report = await audit({ ...options, url, secret, signal: io.stop, onProgress }).finally(
      progress.end,
    );
    const couldNotRun = report.problem !== undefined && report.results.length === 0;
    const output = couldNotRun ? io.stderr : io.stdout;
    const layout = { color: usesColor(io), width: lineWidth(output), verbose };
    if (json) cli.writeData(io, renderJsonReport(report));
    else output.write(renderTextReport(report, layout));
    const failures = await failuresOf(saveReports(renderers, paths, report));
    for (const failure of failures) cli.writeNotice(io, "check-receiver", failure);
    return failures.length > 0 ? 2 : exitCodeOf(report);
  },
});

async function audit(options: AuditOptions) {
  try {
    return await auditReceiver(options);
  } catch (error) {
    if (!isReceiverError(error)) throw error;
    const place = (name: string) => (name === "url" ? "<url>" : cli.flagName(name));
    throw new cli.UsageError(error.message.replace(/^auditReceiver: (\w+)/, (_, name) => place(name)));
  }
}

function listOfChecks({ stdout }: cli.CommandIo): string {
  const rows = auditChecks.map(({ id, requirement, title }) => [requirement, id, title]);
  return renderTable([{}, {}, { flexible: true }], rows, lineWidth(stdout));
}
