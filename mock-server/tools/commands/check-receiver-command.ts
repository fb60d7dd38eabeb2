import { UsageError } from "@workspace-tasks/kernel/cli/command-error.ts";
import * as cli from "@workspace-tasks/kernel/cli/command-line.ts";
import { flagName, list, text, toggle, wholeNumber } from "@workspace-tasks/kernel/cli/flags.ts";
import { isReceiverError } from "@workspace-tasks/receiver-kit";
import { auditReceiver } from "../check-receiver/audit-receiver.ts";
import { auditChecks } from "../check-receiver/checks/catalog.ts";
import { describedCheck } from "../check-receiver/checks/check.ts";
import { exitCodeOf, renderJsonReport, renderTextReport } from "../check-receiver/report.ts";
import { type AuditOptions, type AuditProgress, auditDefaults } from "../check-receiver/target/options.ts";

const secretVariable = "WORKSPACE_TASKS_SIGNING_SECRET";

const limit = (name: keyof typeof auditDefaults, about: string) =>
  wholeNumber(about, { min: 1, max: 999_999_999, fallback: auditDefaults[name] });

const flags = {
  secret: text("<whsec_…>", `signing secret (${secretVariable})`),
  oldSecret: text("<whsec_…>", "also test a secret that is in its grace period"),
  observeUrl: text(
    "<url>",
    'returns { "count": n } for ?id=<webhook-id>, optionally { "status": "…" } for ?taskId=<id>',
  ),
  observeTimeoutMs: limit("observeTimeoutMs", "how long an effect may take to show"),
  only: list("<ids>", "ids or subjects, such as signature,timestamp.stale"),
  toleranceSeconds: limit("toleranceSeconds", "the receiver's tolerance for timestamps"),
  timeoutMs: limit("timeoutMs", "time limit for one response"),
  stallTimeoutMs: limit("stallTimeoutMs", "time limit to give up on a stalled body"),
  responseTimeMsMax: limit("responseTimeMsMax", "slowest response not reported"),
  runTimeoutMs: limit("runTimeoutMs", "time limit for the whole run"),
  concurrency: limit("concurrency", "checks that run at the same time"),
  json: toggle("print one JSON document instead of the table"),
  list: toggle("list the checks and exit"),
};

/** Runs `workspace-tasks check-receiver` and returns its exit code. */
export const runCheckReceiverCommand = cli.defineCommand({
  name: "check-receiver",
  synopsis: "<url> --secret whsec_… [options]",
  about: `Attacks a webhook receiver, in any language, and reports how it responds. The
deliveries name generated tasks and some of them are correctly signed: do not
run it against production.`,
  flags,
  notes: `Exit code: 0 every MUST passed, 1 a MUST failed, 2 could not run (nothing
listens there, for example) or wrong arguments.`,
  async run(args, io) {
    const { list, json, ...options } = args.flags;
    if (list) return cli.write(io, listOfChecks(json));
    const url = cli.onlyArgument(args, "one URL");
    const secret = options.secret ?? io.env[secretVariable];
    if (secret === undefined) throw new UsageError(`expected --secret <whsec_…> or ${secretVariable}`);
    const progress = progressTo(io);
    const { onProgress } = progress;
    const report = await audit({ ...options, url, secret, signal: io.stop, onProgress }).finally(
      progress.end,
    );
    const color = io.isTTY === true && !io.env["NO_COLOR"];
    const couldNotRun = report.problem !== undefined && report.results.length === 0;
    if (json) cli.write(io, renderJsonReport(report));
    else (couldNotRun ? io.stderr : io.stdout).write(renderTextReport(report, { color }));
    return exitCodeOf(report);
  },
});

async function audit(options: AuditOptions) {
  try {
    return await auditReceiver(options);
  } catch (error) {
    if (!isReceiverError(error)) throw error;
    const place = (name: string) => (name === "url" ? "<url>" : flagName(name));
    throw new UsageError(error.message.replace(/^auditReceiver: (\w+)/, (_, name) => place(name)));
  }
}

function listOfChecks(json: boolean): string {
  if (json) return cli.toJson(auditChecks.map(describedCheck));
  const width = Math.max(...auditChecks.map(({ id }) => id.length));
  return auditChecks
    .map(({ id, requirement, title }) => `${requirement.padEnd(6)}  ${id.padEnd(width)}  ${title}\n`)
    .join("");
}

const progressEveryMs = 5_000;

/** One line on a terminal that overwrites itself; elsewhere, such as in a CI log, a line every five seconds. */
function progressTo(io: cli.CommandIo) {
  const { stderr } = io;
  let latest = "waiting for the response to a valid delivery";
  const timer = setInterval(() => {
    if (stderr.isTTY !== true) cli.writeNotice(io, "check-receiver", latest);
  }, progressEveryMs);
  return {
    onProgress({ done, total, id }: AuditProgress) {
      latest = `${done} of ${total} checks done`;
      if (stderr.isTTY !== true) return;
      const line = `[${String(done).padStart(String(total).length)}/${total}] ${id}`;
      stderr.write(done === total ? "\r\u001b[K" : `\r\u001b[K${line}`);
    },
    end: () => clearInterval(timer),
  };
}
