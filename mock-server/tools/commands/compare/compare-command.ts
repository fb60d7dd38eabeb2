import { randomBytes } from "node:crypto";
import { CommandError } from "@workspace-tasks/kernel/cli/command-error.ts";
import * as cli from "@workspace-tasks/kernel/cli/command-line.ts";
import { systemClock } from "@workspace-tasks/kernel/clock.ts";
import type { SettingsChanges } from "@workspace-tasks/mock-server";
import { readSettings, reasonOf, usesColor } from "@workspace-tasks/mock-server/parts";
import type { Plan } from "../../compare/catalogue/catalogue.ts";
import { compareService, evaluateRecord } from "../../compare/compare-service.ts";
import { type Captured, observeDeliveries } from "../../compare/observe/observe-delivery.ts";
import type { CompareReport } from "../../compare/report/compare-report.ts";
import { renderJsonReport } from "../../compare/report/json-report.ts";
import { exitCodeOf } from "../../compare/report/summary.ts";
import { renderTextReport } from "../../compare/report/text-report.ts";
import {
  checkOutputs,
  type OpenRecord,
  openRecord,
  readCaptured,
  readRecord,
  writeOutputs,
} from "./compare-files.ts";
import { accessOf, type CompareFlags, compareFlags, needsNoService, planOf } from "./compare-options.ts";
import { compareProgress } from "./compare-progress.ts";
import { confirmWrites } from "./confirm-writes.ts";

/** Runs `workspace-tasks compare` and returns its exit code. */
export const runCompareCommand = cli.defineCommand({
  name: "compare",
  synopsis: "--base-url <url> [--gateway-url <url>] [options]",
  about: `Sends requests to the real service and to a mock, and reports where they differ:
each rule and each assumption is confirmed, refuted or not testable. Nothing is
changed in the service without --writes. Reports and records hold no key and no
token, of data its types, and of error messages the words in lower case.

Keys come from the environment; each one makes more rules testable:

  WORKSPACE_TASKS_API_KEY            an administrator's read_write key
  WORKSPACE_TASKS_READ_ONLY_API_KEY  a read_only key
  WORKSPACE_TASKS_PARTNER_API_KEY    a partner's key, for --gateway-url
  WORKSPACE_TASKS_REVOKED_API_KEY, WORKSPACE_TASKS_EXPIRED_API_KEY`,
  flags: compareFlags,
  notes: `Exit code: 0 no rule is refuted, 1 at least one is, 2 could not run, did not
finish, a file could not be written, or wrong arguments.`,
  async run(args, io) {
    cli.noArgument(args);
    try {
      return await run(args.flags, io);
    } catch (error) {
      // 1 says that a rule is refuted, so no failure may end with it.
      if (error instanceof CommandError && error.exitCode === 2) throw error;
      throw new CommandError(reasonOf(error), 2, { cause: error });
    }
  },
});

/** A report, and what went wrong beside it. */
interface Compared {
  readonly report: CompareReport;
  readonly problems: readonly string[];
}

interface Given {
  readonly flags: CompareFlags;
  readonly settings: SettingsChanges | undefined;
  readonly captured: Captured | undefined;
}

async function run(flags: CompareFlags, io: cli.CommandIo): Promise<number> {
  const isOffline = needsNoService(flags, io);
  await checkOutputs(flags);
  const settings = await readSettings({ settings: flags.settings, set: [] });
  const captured = flags.deliveries === undefined ? undefined : await readCaptured(flags.deliveries, io);
  const given = { flags, settings, captured };
  const { report, problems } = isOffline ? await compareFiles(given) : await compareNow(given, io);
  // The report is printed first: what a run has found is not lost when a file cannot be written.
  if (flags.json) cli.write(io, renderJsonReport(report));
  else (report.problem ? io.stderr : io.stdout).write(renderTextReport(report, { color: usesColor(io) }));
  const failures = [...problems, ...(await writeOutputs(flags, report, io))];
  for (const failure of failures) cli.writeNotice(io, "compare", failure);
  return failures.length > 0 ? 2 : exitCodeOf(report);
}

const withoutService: Plan = { permissions: new Set(["read"]), keys: new Set(), hasGateway: false };

/** A record and a file of deliveries are evaluated without a service and without a key. */
async function compareFiles({ flags, settings, captured }: Given): Promise<Compared> {
  const { plan, observations } =
    flags.replay === undefined ? { plan: withoutService, observations: [] } : await readRecord(flags.replay);
  const all = [...observations, ...(captured ? [observeDeliveries(captured)] : [])];
  const record = await recordOf(flags, plan);
  for (const observation of all) record?.append(observation);
  return { report: await evaluateRecord(all, plan, settings), problems: problemsOf(record) };
}

const recordOf = async ({ record }: CompareFlags, plan: Plan, onProblem?: () => void) =>
  record === undefined ? null : openRecord(record, plan, onProblem);

const problemsOf = (record: OpenRecord | null) => [record?.problem() ?? []].flat();

async function compareNow({ flags, settings, captured }: Given, io: cli.CommandIo): Promise<Compared> {
  const access = accessOf(flags, io);
  const plan = planOf(flags, access);
  if (!flags.yes) await confirmWrites(plan, access.baseUrl, io);
  const progress = compareProgress(io);
  const failing = new AbortController();
  try {
    const record = await recordOf(flags, plan, () => failing.abort());
    const report = await compareService({
      access,
      fetch: (url, init) => fetch(url, init),
      clock: systemClock,
      plan,
      runId: randomBytes(5).toString("hex"),
      settings,
      captured,
      signal: AbortSignal.any([io.stop, failing.signal]),
      onWait: progress.onWait,
      onObservation(observation, done, total) {
        record?.append(observation);
        progress.onObservation(observation, done, total);
      },
    });
    return { report, problems: problemsOf(record) };
  } finally {
    progress.end();
  }
}
