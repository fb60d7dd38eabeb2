import { parseArgs } from "node:util";
import type { CommandIo } from "../../cli/command-line.ts";
import { auditReceiver } from "../audit/audit-receiver.ts";
import { auditChecks } from "../audit/checks/catalog.ts";
import type { AuditOptions } from "../audit/options.ts";
import { exitCodeOf, renderJsonReport, renderTextReport } from "../audit/report.ts";
import { schemeNames } from "../audit/target/scheme.ts";

const secretVariable = "WORKSPACE_TASKS_SIGNING_SECRET";

const usage = `Usage: workspace-tasks check-receiver <url> --secret whsec_… [options]

Attacks a webhook receiver, in any language, and reports how it stands. The
deliveries name made-up tasks and some of them are rightly signed: do not point
it at production.

  --secret <whsec_…>        signing secret (${secretVariable})
  --old-secret <whsec_…>    also test a secret that is in its grace period
  --observe-url <url>       <url>?id=<webhook-id> answers { "count": n }, its
                            effects; ?taskId=<id> may answer { "status": "…" }
  --observe-timeout-ms <n>  how long an effect may take to show (10000)
  --only <ids>              ids or subjects, as in signature,timestamp.stale
  --tolerance-seconds <n>   the receiver's tolerance for timestamps (300)
  --timeout-ms <n>          time limit for one answer (10000)
  --stall-timeout-ms <n>    time by which a stalled body is given up (20000)
  --answer-time-ms-max <n>  slowest answer that is not reported (3000)
  --run-timeout-ms <n>      time limit for the whole audit (180000)
  --concurrency <n>         checks under way at once (4)
  --scheme <name>           ${schemeNames.join(" or ")} (standard-webhooks)
  --json                    one JSON document instead of the table
  --list                    list the checks and end
  --help                    this text

Exit code: 0 every MUST passed, 1 a MUST failed, 2 the audit could not be made.
`;

class UsageError extends Error {
  override readonly name = "UsageError";
}

/** Runs `workspace-tasks check-receiver` and returns its exit code. Never throws for wrong arguments. */
export async function runCheckReceiverCommand(argv: readonly string[], io: CommandIo): Promise<number> {
  try {
    const { values, positionals } = readArguments(argv);
    if (values.help) return say(io, usage);
    if (values.list) return say(io, listOfChecks(values.json ?? false));
    const options = auditOptions(values, positionals, io);
    const report = await auditReceiver({ ...options, ...progressTo(io), signal: io.stop });
    const color = io.isTTY === true && !io.env?.["NO_COLOR"];
    io.stdout.write(values.json ? renderJsonReport(report) : renderTextReport(report, { color }));
    return exitCodeOf(report);
  } catch (error) {
    if (!(error instanceof UsageError || error instanceof RangeError)) throw error;
    io.stderr.write(`check-receiver: ${error.message}\nTry workspace-tasks check-receiver --help\n`);
    return 2;
  }
}

function readArguments(argv: readonly string[]) {
  const text = { type: "string" } as const;
  const flag = { type: "boolean" } as const;
  try {
    return parseArgs({
      args: [...argv],
      allowPositionals: true,
      options: {
        secret: text,
        "old-secret": text,
        "observe-url": text,
        "observe-timeout-ms": text,
        only: { type: "string", multiple: true },
        "tolerance-seconds": text,
        "timeout-ms": text,
        "stall-timeout-ms": text,
        "answer-time-ms-max": text,
        "run-timeout-ms": text,
        concurrency: text,
        scheme: text,
        json: flag,
        list: flag,
        help: { type: "boolean", short: "h" },
      },
    });
  } catch (error) {
    // parseArgs names the argument it does not know; a value of a known one is not in its message.
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

type Values = ReturnType<typeof readArguments>["values"];

function auditOptions(values: Values, positionals: readonly string[], io: CommandIo): AuditOptions {
  const [url] = positionals;
  if (url === undefined || positionals.length > 1) {
    throw new UsageError(`expected one URL, got ${positionals.length}`);
  }
  const secret = values.secret ?? io.env?.[secretVariable];
  if (secret === undefined) throw new UsageError(`expected --secret or ${secretVariable}`);
  const scheme = schemeNames.find((name) => name === (values.scheme ?? "standard-webhooks"));
  if (scheme === undefined) throw new UsageError(`expected --scheme ${schemeNames.join(" or ")}`);
  return {
    url,
    secret,
    scheme,
    oldSecret: values["old-secret"],
    observeUrl: values["observe-url"],
    observeTimeoutMs: wholeNumber(values, "observe-timeout-ms"),
    only: (values.only ?? []).flatMap((list) => list.split(",")).filter((name) => name !== ""),
    toleranceSeconds: wholeNumber(values, "tolerance-seconds"),
    timeoutMs: wholeNumber(values, "timeout-ms"),
    stallTimeoutMs: wholeNumber(values, "stall-timeout-ms"),
    answerTimeMsMax: wholeNumber(values, "answer-time-ms-max"),
    runTimeoutMs: wholeNumber(values, "run-timeout-ms"),
    concurrency: wholeNumber(values, "concurrency"),
  };
}

type NumberOption =
  | "tolerance-seconds"
  | "timeout-ms"
  | "observe-timeout-ms"
  | "stall-timeout-ms"
  | "answer-time-ms-max"
  | "run-timeout-ms"
  | "concurrency";

function wholeNumber(values: Values, name: NumberOption): number | undefined {
  const text = values[name];
  if (text === undefined) return undefined;
  if (!/^[1-9][0-9]{0,8}$/.test(text)) {
    throw new UsageError(`expected a positive whole number for --${name}, got ${JSON.stringify(text)}`);
  }
  return Number(text);
}

function listOfChecks(json: boolean): string {
  const checks = auditChecks.map(({ id, requirement, title, sent, expected, mend }) => ({
    id,
    requirement,
    title,
    sent,
    expected,
    mend,
  }));
  if (json) return `${JSON.stringify(checks, null, 2)}\n`;
  const width = Math.max(...checks.map(({ id }) => id.length));
  return checks
    .map(({ id, requirement, title }) => `${requirement.padEnd(6)}  ${id.padEnd(width)}  ${title}\n`)
    .join("");
}

/** One line that overwrites itself, and only where somebody looks at it. */
function progressTo(io: CommandIo): Pick<AuditOptions, "onProgress"> {
  if (io.stderr.isTTY !== true) return {};
  return {
    onProgress({ done, total, id }) {
      const line = `[${String(done).padStart(String(total).length)}/${total}] ${id}`;
      io.stderr.write(done === total ? "\r\u001b[K" : `\r\u001b[K${line}`);
    },
  };
}

function say(io: CommandIo, text: string): number {
  io.stdout.write(text);
  return 0;
}
