import { randomBytes } from "node:crypto";
import { CommandError } from "../../../sdk/kernel/cli/command-error.ts";
import {
  type Command,
  type CommandIo,
  noArgument,
  runCommand,
  write,
} from "../../../sdk/kernel/cli/command-line.ts";
import { systemClock } from "../../../sdk/kernel/clock.ts";
import type { Plan } from "../../compare/catalogue/catalogue.ts";
import { compareService, evaluateRecord } from "../../compare/compare-service.ts";
import type { CompareReport } from "../../compare/report/compare-report.ts";
import { renderJsonReport } from "../../compare/report/json-report.ts";
import { exitCodeOf } from "../../compare/report/summary.ts";
import { renderTextReport } from "../../compare/report/text-report.ts";
import { capturedObservations } from "../../compare/run/await-deliveries.ts";
import type { SettingsChanges } from "../../settings/settings.ts";
import { usesColor } from "../mock/log-mock.ts";
import { readSettings } from "../read-settings.ts";
import { reasonOf } from "../reason-of.ts";
import { checkOutputs, openRecord, readRecord, writeOutputs } from "./compare-files.ts";
import { accessOf, type CompareFlags, compareFlags, modeOf, planOf } from "./compare-options.ts";
import { compareProgress } from "./compare-progress.ts";
import { confirmWrites } from "./confirm-writes.ts";
import { isUrl, readCaptured, startReceiver } from "./receive-deliveries.ts";

const command: Command<typeof compareFlags> = {
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
    noArgument(args);
    try {
      return await run(args.flags, io);
    } catch (error) {
      // 1 says that a rule is refuted, so no failure may end with it.
      if (error instanceof CommandError && error.exitCode === 2) throw error;
      throw new CommandError(reasonOf(error), 2, { cause: error });
    }
  },
};

/** Runs `workspace-tasks compare` and returns its exit code. */
export function runCompareCommand(argv: readonly string[], io: CommandIo): Promise<number> {
  return runCommand(command, argv, io);
}

/** A report, and what went wrong beside it. */
interface Compared {
  readonly report: CompareReport;
  readonly problems: readonly string[];
}

async function run(flags: CompareFlags, io: CommandIo): Promise<number> {
  const mode = modeOf(flags, io);
  await checkOutputs(flags);
  const settings = await readSettings({ settings: flags.settings, set: [] });
  const modes = { service: compareNow, record: replay, "captured-file": compareCaptured };
  const { report, problems } = await modes[mode](flags, io, settings);
  // The report is printed first: what a run has found is not lost when a file cannot be written.
  if (flags.json) write(io, renderJsonReport(report));
  else (report.problem ? io.stderr : io.stdout).write(renderTextReport(report, { color: usesColor(io) }));
  const failures = [...problems, ...(await writeOutputs(flags, report, io))];
  for (const failure of failures) io.stderr.write(`compare: ${failure}\n`);
  return failures.length > 0 ? 2 : exitCodeOf(report);
}

async function replay(
  flags: CompareFlags,
  io: CommandIo,
  settings: SettingsChanges | undefined,
): Promise<Compared> {
  const { plan, observations } = await readRecord(flags.replay ?? "");
  const captured = await capturedFile(flags, io);
  const all = [...observations, ...(captured ? capturedObservations(captured) : [])];
  return { report: await evaluateRecord(all, plan, settings), problems: [] };
}

const withoutService: Plan = { permissions: new Set(["read"]), keys: new Set(), hasGateway: false };

/** A file of deliveries is evaluated without a service and without a key. */
async function compareCaptured(
  flags: CompareFlags,
  io: CommandIo,
  settings: SettingsChanges | undefined,
): Promise<Compared> {
  const captured = await capturedFile(flags, io);
  const observations = captured ? capturedObservations(captured) : [];
  const record = await recordOf(flags, withoutService);
  for (const observation of observations) record?.append(observation);
  const report = await evaluateRecord(observations, withoutService, settings);
  return { report, problems: [record?.problem() ?? []].flat() };
}

const capturedFile = async ({ deliveries }: CompareFlags, io: CommandIo) =>
  deliveries === undefined || isUrl(deliveries) ? undefined : await readCaptured(deliveries, io);

const recordOf = async ({ record }: CompareFlags, plan: Plan, onProblem?: () => void) =>
  record === undefined ? null : openRecord(record, plan, onProblem);

async function compareNow(
  flags: CompareFlags,
  io: CommandIo,
  settings: SettingsChanges | undefined,
): Promise<Compared> {
  const access = accessOf(flags, io);
  const plan = planOf(flags, access);
  const captured = await capturedFile(flags, io);
  const isPublic = flags.deliveries !== undefined && isUrl(flags.deliveries);
  if (!flags.yes) await confirmWrites({ plan, baseUrl: access.baseUrl, isPublic }, io);
  const runId = randomBytes(5).toString("hex");
  const { deliveriesPort: port, deliveriesSeconds } = flags;
  const receiver = isPublic
    ? await startReceiver(flags.deliveries ?? "", { port, forMs: deliveriesSeconds * 1_000, runId })
    : undefined;
  const progress = compareProgress(io);
  const failing = new AbortController();
  try {
    const record = await recordOf(flags, plan, () => failing.abort());
    const report = await compareService({
      access,
      fetch: (url, init) => fetch(url, init),
      clock: systemClock,
      plan,
      runId,
      settings,
      captured,
      listening: receiver,
      signal: AbortSignal.any([io.stop, failing.signal]),
      onWait: progress.onWait,
      onObservation(observation, done, total) {
        record?.append(observation);
        progress.onObservation(observation, done, total);
      },
    });
    return { report, problems: [record?.problem() ?? []].flat() };
  } finally {
    progress.end();
    receiver?.close();
  }
}
