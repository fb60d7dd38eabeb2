import { randomBytes } from "node:crypto";
import * as cli from "@workspace-tasks/kernel/cli/command-line.ts";
import { CommandError } from "@workspace-tasks/kernel/cli/command-line.ts";
import { systemClock } from "@workspace-tasks/kernel/clock.ts";
import { usesColor } from "@workspace-tasks/kernel/layout.ts";
import type { SettingsChanges } from "@workspace-tasks/mock-server";
import { readSettings } from "@workspace-tasks/mock-server/parts";
import type { Plan } from "../../compare/catalogue/catalogue.ts";
import { cleanService, compareService, evaluateRecord } from "../../compare/compare-service.ts";
import { type Captured, observeDeliveries } from "../../compare/observe/observe-delivery.ts";
import { type CompareReport, emptyReport } from "../../compare/report/compare-report.ts";
import { renderJsonReport } from "../../compare/report/json-report.ts";
import { exitCodeOf } from "../../compare/report/summary.ts";
import { removalText, renderTextReport } from "../../compare/report/text-report.ts";
import { createdEndpoints } from "../../compare/run/created-endpoints.ts";
import { checkOutputs, openRecord, readCaptured, readRecord, writeOutputs } from "./compare-files.ts";
import { accessOf, type CompareFlags, compareFlags, needsNoService, planOf } from "./compare-options.ts";
import { compareProgress } from "./compare-progress.ts";
import { agreesToRemove, confirmWrites } from "./confirm-writes.ts";
import { nameWhatIsLeft } from "./name-what-is-left.ts";

/** Runs `workspace-tasks compare` and returns its exit code. */
export const runCompareCommand = cli.defineCommand({
  name: "compare",
  synopsis: "--base-url <url> [--gateway-url <url>] [options]",
  about: `Sends requests to the real service and to a mock, and reports where they differ:
each rule is confirmed, refuted, not testable, or differs from an assumption,
where the interface leaves it open. Nothing is changed in the service without
--writes. Reports and records hold no key and no token, of data its types, and
of error messages the words in lower case.

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
  if (flags.clean) return clean(flags, io);
  await checkOutputs(flags);
  const settings = await readSettings({ settings: flags.settings, set: [] });
  const captured = flags.deliveries === undefined ? undefined : await readCaptured(flags.deliveries, io);
  const given: Given = { flags, settings, captured, problems: [] };
  const report = await (isOffline ? compareFiles(given) : compareNow(given, io));
  // The report is printed first: what a run has found is not lost when a file cannot be written.
  if (flags.json) cli.writeData(io, renderJsonReport(report));
  else writeText(report, io);
  const failures = [...given.problems, ...(await writeOutputs(flags, report, io))];
  for (const failure of failures) cli.writeNotice(io, "compare", failure);
  return failures.length > 0 ? 2 : exitCodeOf(report);
}

const writeText = (report: CompareReport, io: cli.CommandIo) =>
  cli.write(io, renderTextReport(report, { color: usesColor(io) }), report.problem ? io.stderr : io.stdout);

const withoutService: Plan = { permissions: new Set(["read"]), keys: new Set(), hasGateway: false };

/** A record and a file of deliveries are evaluated without a service and without a key. */
async function compareFiles({ flags, settings, captured, problems }: Given): Promise<CompareReport> {
  const { plan, observations } =
    flags.replay === undefined ? { plan: withoutService, observations: [] } : await readRecord(flags.replay);
  const all = [...observations, ...(captured ? [observeDeliveries(captured)] : [])];
  const append = await openRecord(flags.record, plan, (problem) => problems.push(problem));
  for (const observation of all) append(observation);
  return evaluateRecord(all, plan, settings);
}

async function compareNow(
  { flags, settings, captured, problems }: Given,
  io: cli.CommandIo,
): Promise<CompareReport> {
  const access = accessOf(flags, io);
  const plan = planOf(flags, access);
  if (!flags.yes) await confirmWrites(plan, access.baseUrl, io);
  let progress = compareProgress(io);
  const failing = new AbortController();
  const created = createdEndpoints();
  const leftText = nameWhatIsLeft(io, access, created, (text) => progress.ending(text));
  try {
    const append = await openRecord(flags.record, plan, (problem) => {
      problems.push(problem);
      failing.abort();
    });
    return await compareService({
      access,
      fetch: (url, init) => fetch(url, init),
      clock: systemClock,
      plan,
      runId: randomBytes(5).toString("hex"),
      settings,
      captured,
      signal: AbortSignal.any([io.stop, failing.signal]),
      created,
      async agrees(endpoints) {
        progress.end();
        const agreed = await agreesToRemove(endpoints, flags, io);
        progress = compareProgress(io);
        return agreed;
      },
      onWait: (ms, reason) => progress.onWait(ms, reason),
      onObservation(observation, done, total) {
        append(observation);
        progress.onObservation(observation, done, total);
      },
    });
  } catch (error) {
    cli.write(io, leftText(), io.stderr);
    throw error;
  } finally {
    progress.end();
  }
}

/** Removes what earlier runs have left. */
async function clean(flags: CompareFlags, io: cli.CommandIo): Promise<number> {
  const access = accessOf(flags, io);
  const created = createdEndpoints();
  nameWhatIsLeft(io, access, created, (text) => cli.writeNotice(io, "compare", text));
  const { problem, removal } = await cleanService({
    access,
    fetch: (url, init) => fetch(url, init),
    clock: systemClock,
    signal: io.stop,
    created,
    agrees: (endpoints) => agreesToRemove(endpoints, flags, io),
  });
  if (problem) writeText({ ...emptyReport, problem }, io);
  else if (!removal) throw new CommandError("nothing was removed");
  else cli.write(io, `${removalText(removal)}\n`);
  return problem || removal?.command ? 2 : 0;
}
