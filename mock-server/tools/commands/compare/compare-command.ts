import { randomBytes } from "node:crypto";
import * as cli from "@workspace-tasks/kernel/cli/command-line.ts";
import { UsageError } from "@workspace-tasks/kernel/cli/command-line.ts";
import { systemClock } from "@workspace-tasks/kernel/clock.ts";
import { lineWidth, reflow, usesColor } from "@workspace-tasks/kernel/layout.ts";
import type { SettingsChanges } from "@workspace-tasks/mock-server";
import { readSettings } from "@workspace-tasks/mock-server/parts";
import { endpointsText, removalOf, removalText } from "../../compare/ask/created.ts";
import type { Captured } from "../../compare/ask/deliveries.ts";
import type { Rule } from "../../compare/ask/rule.ts";
import type { Service } from "../../compare/ask/service.ts";
import { compareFindings, compareService } from "../../compare/compare-service.ts";
import { findingsInFile } from "../../compare/findings.ts";
import { type CompareReport, exitCodeOf, renderJsonReport, renderTextReport } from "../../compare/report.ts";
import { rules } from "../../compare/rules/table.ts";
import { progressLine, stepOf } from "../progress-line.ts";
import { requireAgreement } from "../service/service.ts";
import { checkOutputs, openRecord, readCaptured, readRecord, writeOutputs } from "./compare-files.ts";
import { accessOf, type CompareFlags, compareFlags, needsNoService } from "./compare-options.ts";

/** Runs `workspace-tasks compare` and returns its exit code. */
export const runCompareCommand = cli.defineCommand({
  name: "compare",
  synopsis: "--base-url <url> [--gateway-url <url>] [options]",
  about: `Asks the real service a table of rules, which the mock keeps, and reports where it
differs: each rule is confirmed, refuted, not testable, or differs from an assumption,
where the interface leaves it open. Nothing is changed in the service without
--writes. Reports and records hold facts: no key, no token and no data, but the
messages of errors.

Keys come from the environment; each one makes more rules testable:

  WORKSPACE_TASKS_API_KEY            an administrator's read_write key
  WORKSPACE_TASKS_READ_ONLY_API_KEY  a read_only key
  WORKSPACE_TASKS_PARTNER_API_KEY    a partner's key, for --gateway-url
  WORKSPACE_TASKS_REVOKED_API_KEY, WORKSPACE_TASKS_EXPIRED_API_KEY`,
  flags: compareFlags,
  notes: `Exit code: 0 the service keeps to the interface (it may differ from assumptions), 1
a rule is refuted, 2 could not run, did not finish, endpoints are left on the
service, a file could not be written, or wrong arguments.`,
  failureCode: 2,
  run(args, io) {
    cli.noArgument(args);
    return run(args.flags, io);
  },
});

interface Given {
  readonly flags: CompareFlags;
  readonly settings: SettingsChanges | undefined;
  readonly captured: Captured | undefined;
  /** Takes what goes wrong beside the comparison. */
  readonly problems: string[];
}

async function run(flags: CompareFlags, io: cli.CommandIo): Promise<number> {
  const isOffline = needsNoService(flags, io);
  await checkOutputs(flags);
  const settings = await readSettings({ settings: flags.settings, set: [] });
  const captured = flags.deliveries === undefined ? undefined : await readCaptured(flags.deliveries, io);
  const given: Given = { flags, settings, captured, problems: [] };
  const report = await (isOffline ? compareFiles(given) : compareNow(given, io));
  // The report is printed first: what a run has found is not lost when a file cannot be written.
  if (flags.json) cli.writeData(io, renderJsonReport(report));
  else cli.write(io, renderTextReport(report, usesColor(io)), report.problem ? io.stderr : io.stdout);
  const failures = [...given.problems, ...(await writeOutputs(flags, report, io))];
  for (const failure of failures) cli.writeNotice(io, "compare", failure);
  return failures.length > 0 ? 2 : exitCodeOf(report);
}

/** A record and a file of deliveries are evaluated without a service and without a key. */
async function compareFiles({ flags, settings, captured, problems }: Given): Promise<CompareReport> {
  const recorded = flags.replay === undefined ? [] : await readRecord(flags.replay);
  const found = captured ? await findingsInFile(captured) : [];
  const names = new Set(found.map(({ rule }) => rule));
  const findings = [...recorded.filter(({ rule }) => !names.has(rule)), ...found];
  const append = await openRecord(flags.record, (problem) => problems.push(problem));
  for (const finding of findings) append(finding);
  return compareFindings(findings, settings);
}

async function compareNow(
  { flags, settings, captured, problems }: Given,
  io: cli.CommandIo,
): Promise<CompareReport> {
  const access = accessOf(flags, io);
  if (flags.writes && !flags.yes) await confirmWrites(access.baseUrl, io);
  const progress = progressLine(io, "compare", "connecting");
  const failing = new AbortController();
  let position = "";
  let leftText = () => "";
  try {
    const append = await openRecord(flags.record, (problem) => {
      problems.push(problem);
      failing.abort();
    });
    return await compareService({
      access,
      fetch: (url, init) => fetch(url, init),
      clock: systemClock,
      writes: flags.writes,
      runId: randomBytes(5).toString("hex"),
      settings,
      captured,
      signal: AbortSignal.any([io.stop, failing.signal]),
      onStart(service) {
        leftText = nameWhatIsLeft(service, io, (text) => {
          progress.notice(text);
          progress.show(() => "ending");
        });
      },
      onWait(ms, reason) {
        // Shorter waits are not worth a line.
        if (ms < 2_000) return;
        const endsAtMs = Date.now() + ms;
        const seconds = () => Math.max(0, Math.ceil((endsAtMs - Date.now()) / 1_000));
        progress.show(() => `${position} waits ${seconds()} s ${reason}`.trimStart());
      },
      onFinding(finding, done) {
        append(finding);
        position = stepOf(done, rules.length);
        progress.show(() => `${position} ${finding.rule}`);
      },
    });
  } catch (error) {
    cli.write(io, leftText(), io.stderr);
    throw error;
  } finally {
    progress.end();
  }
}

/** Lists what the run would do to the service, and asks. @throws CommandError unless the user agrees */
async function confirmWrites(baseUrl: string, io: cli.CommandIo): Promise<void> {
  const lines = rules
    .filter(({ needs }) => needs === "writes")
    .map(({ id, says }: Rule) => `  ${id}: ${says}\n`);
  const text = `compare would send mutations to ${baseUrl}, to find out whether

${lines.join("")}
The webhook endpoints have URLs at receiver.invalid, or at the loopback address of the service, where no receiver gets a
delivery. Each is removed at the end of its rule, also after Ctrl-C. The other mutations refer to records that do not exist,
or are validated without being executed.
`;
  io.stderr.write(`${reflow(text, lineWidth(io.stderr))}\n`);
  if (!io.ask) throw new UsageError("--writes: expected a terminal to ask at; write --writes --yes to agree");
  await requireAgreement("Continue?", false, io);
}

/**
 * Says what the first signal starts, and what the second one leaves on the service.
 * @returns what is left now, for a run that fails
 */
function nameWhatIsLeft(
  service: Service,
  { stop, onKill }: cli.CommandIo,
  say: (text: string) => void,
): () => string {
  const count = () => service.created.size;
  const sayEnding = () =>
    say(
      count() === 0
        ? "ending; Ctrl-C again to end at once"
        : `ending: removing ${endpointsText(count())}; Ctrl-C again to leave ${count() === 1 ? "it" : "them"}`,
    );
  const text = () => (count() === 0 ? "" : `${removalText(removalOf(service))}\n`);
  stop.addEventListener("abort", sayEnding, { once: true });
  onKill?.(text);
  return text;
}
