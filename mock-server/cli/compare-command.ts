import { randomBytes } from "node:crypto";
import { CommandError, UsageError } from "../../cli/command-error.ts";
import { type Command, type CommandIo, noArgument, runCommand, write } from "../../cli/command-line.ts";
import { type FlagValues, flag, repeated, text, toggle, wholeNumber } from "../../cli/flags.ts";
import { compareService, evaluateRecord } from "../compare/compare-service.ts";
import type { PlanInput } from "../compare/plan/plan-probes.ts";
import { keyVariables } from "../compare/plan/plan-probes.ts";
import { type KeyName, keyNames, type Permission } from "../compare/plan/probe.ts";
import type { ComparisonRecord } from "../compare/record.ts";
import type { CompareReport } from "../compare/report/compare-report.ts";
import { renderJsonReport } from "../compare/report/json-report.ts";
import { exitCodeOf } from "../compare/report/summary.ts";
import { renderTextReport } from "../compare/report/text-report.ts";
import type { Captured } from "../compare/run/await-deliveries.ts";
import { runDefaults } from "../compare/run/run-probes.ts";
import { isLoopbackHost } from "../loopback.ts";
import type { SettingsChanges } from "../settings.ts";
import { createRealClock } from "../time/clock.ts";
import { openRecord, readRecord, reportWriter, writeSettings } from "./compare-files.ts";
import { compareProgress } from "./compare-progress.ts";
import { confirmWrites } from "./confirm-writes.ts";
import { usesColor } from "./log-mock.ts";
import { readSettings } from "./read-settings.ts";
import { isUrl, type Receiver, readCaptured, startReceiver } from "./receive-deliveries.ts";

const address = (about: string) =>
  flag("<url>", about, { parse: parseAddress, expected: "an https URL, or an http URL of this computer" });

const flags = {
  baseUrl: address("address of the service (WORKSPACE_TASKS_BASE_URL)"),
  gatewayUrl: address("address of the partner operations (WORKSPACE_TASKS_GATEWAY_URL)"),
  readOnly: toggle("send no mutation but the token exchange; this is the default"),
  writes: toggle("also create, change and remove webhook endpoints; asks first"),
  yes: toggle("do not ask"),
  deliveries: text(
    "<file|url>",
    "a file of captured deliveries, or with --writes a public URL that reaches this computer",
  ),
  deliveriesPort: wholeNumber("port on this computer that the public URL reaches", {
    min: 1,
    max: 65_535,
    fallback: 4020,
  }),
  deliveriesSeconds: wholeNumber("how long deliveries are awaited", { min: 1, max: 86_400, fallback: 600 }),
  record: text("<file>", "keep redacted evidence, a line for each request"),
  resume: text("<file>", "continue the interrupted run of this record"),
  replay: text("<file>", "evaluate a record again, without the service"),
  report: repeated("<file>", "also write a report: .json, .md or .xml (JUnit); repeatable"),
  write: text("<file.json>", "write settings with which the mock does the same"),
  settings: text("<file.json>", "settings of the mock to compare with (its defaults)"),
  requestsPerMinute: wholeNumber("share of the rate limit", {
    min: 1,
    max: 100,
    fallback: runDefaults.requestsPerMinute,
  }),
  requestsMax: wholeNumber("most requests of the run", {
    min: 1,
    max: 10_000,
    fallback: runDefaults.requestsMax,
  }),
  timeoutMs: wholeNumber("time limit of one request", {
    min: 1,
    max: 600_000,
    fallback: runDefaults.timeoutMs,
  }),
  runTimeoutMs: wholeNumber("time limit of the run", {
    min: 1,
    max: 86_400_000,
    fallback: runDefaults.runTimeoutMs,
  }),
  json: toggle("print one JSON document instead of text"),
};

type Flags = FlagValues<typeof flags>;

const command: Command<typeof flags> = {
  name: "compare",
  synopsis: "--base-url <url> [--gateway-url <url>] [options]",
  about: `Sends requests to the real service and to a mock, and reports where they differ:
each rule and each assumption is confirmed, refuted or not testable. Nothing is
changed in the service without --writes. Reports and records hold no key, token
or client data.

Keys come from the environment; each one makes more rules testable:

  WORKSPACE_TASKS_API_KEY            an administrator's read_write key
  WORKSPACE_TASKS_READ_ONLY_API_KEY  a read_only key
  WORKSPACE_TASKS_PARTNER_API_KEY    a partner's key, for --gateway-url
  WORKSPACE_TASKS_REVOKED_API_KEY, WORKSPACE_TASKS_EXPIRED_API_KEY`,
  flags,
  notes: `Exit code: 0 no rule is refuted, 1 at least one is, 2 could not run, did not
finish, or wrong arguments.`,
  async run(args, io) {
    noArgument(args);
    const settings = await readSettings({ settings: args.flags.settings, set: [] });
    const report =
      args.flags.replay === undefined
        ? await compareNow(args.flags, io, settings)
        : await replay(args.flags.replay, settings);
    return finish(report, args.flags, io);
  },
};

/** Runs `workspace-tasks compare` and returns its exit code. */
export function runCompareCommand(argv: readonly string[], io: CommandIo): Promise<number> {
  return runCommand(command, argv, io);
}

async function finish(report: CompareReport, flags: Flags, io: CommandIo): Promise<number> {
  for (const path of flags.report) await reportWriter(path)(report);
  if (flags.write !== undefined && !report.problem) await writeSettings(flags.write, report, io);
  if (flags.json) write(io, renderJsonReport(report));
  else (report.problem ? io.stderr : io.stdout).write(renderTextReport(report, { color: usesColor(io) }));
  return exitCodeOf(report);
}

async function replay(path: string, settings: SettingsChanges | undefined): Promise<CompareReport> {
  const { header, observations } = await readRecord("--replay", path);
  return evaluateRecord(observations, planOf(header), settings);
}

const planOf = ({ permissions, keys, hasGateway }: ComparisonRecord["header"]): PlanInput => ({
  permissions: new Set(permissions),
  keys: new Set(keys),
  hasGateway,
});

async function compareNow(
  flags: Flags,
  io: CommandIo,
  settings: SettingsChanges | undefined,
): Promise<CompareReport> {
  for (const path of flags.report) reportWriter(path);
  const { baseUrl, gatewayUrl } = addressesOf(flags, io);
  const keys = keysOf(io);
  if (Object.keys(keys).length === 0) {
    throw new UsageError(`expected a key in ${keyVariables.admin}, or another one that --help names`);
  }
  const names = Object.keys(keys) as readonly KeyName[];
  const plan: PlanInput = {
    permissions: permissionsOf(flags),
    keys: new Set(names),
    hasGateway: gatewayUrl !== null,
  };
  if (plan.permissions.has("write") && !flags.yes) await confirmWrites(plan, baseUrl, io);
  if (flags.resume !== undefined && flags.record !== undefined)
    throw new UsageError("--record: expected --resume alone, which continues its own record");
  const earlier = flags.resume === undefined ? null : await readRecord("--resume", flags.resume);
  const runId = earlier?.header.runId ?? randomBytes(5).toString("hex");
  const { captured, receiver } = await deliveriesOf(flags, io);
  const record = await openRecord({
    path: flags.record ?? flags.resume,
    isResumed: earlier !== null,
    runId,
    plan,
  });
  const progress = compareProgress(io);
  try {
    return await compareService({
      access: { baseUrl, gatewayUrl, keys },
      fetch: (url, init) => fetch(url, init),
      clock: createRealClock(),
      plan,
      limits: flags,
      runId,
      settings,
      captured,
      listening: receiver,
      earlier: earlier?.observations,
      signal: io.stop,
      onWait: progress.onWait,
      onObservation(observation, done, total) {
        record.append(observation);
        progress.onObservation(observation, done, total);
      },
    });
  } finally {
    progress.end();
    receiver?.close();
    await record.close();
  }
}

async function deliveriesOf(
  { deliveries, writes, deliveriesPort, deliveriesSeconds }: Flags,
  io: CommandIo,
): Promise<{ readonly captured?: Captured; readonly receiver?: Receiver }> {
  if (deliveries === undefined) return {};
  if (!isUrl(deliveries)) return { captured: await readCaptured(deliveries, io) };
  if (!writes)
    throw new UsageError("--deliveries: expected --writes with a URL, because an endpoint is created for it");
  return { receiver: await startReceiver(deliveries, deliveriesPort, deliveriesSeconds * 1_000) };
}

function permissionsOf({ readOnly, writes }: Flags): ReadonlySet<Permission> {
  if (readOnly && writes) throw new UsageError("expected --read-only or --writes, got both");
  return new Set<Permission>(writes ? ["read", "write"] : ["read"]);
}

function addressesOf({ baseUrl, gatewayUrl }: Flags, { env }: CommandIo) {
  const fromEnvironment = (name: string) => {
    const value = env[name];
    if (!value) return undefined;
    const parsed = parseAddress(value);
    if (parsed !== undefined) return parsed;
    throw new UsageError(`${name}: expected an https URL, or an http URL of this computer`);
  };
  const base = baseUrl ?? fromEnvironment("WORKSPACE_TASKS_BASE_URL");
  if (base === undefined) throw new UsageError("expected --base-url <url> or WORKSPACE_TASKS_BASE_URL");
  return { baseUrl: base, gatewayUrl: gatewayUrl ?? fromEnvironment("WORKSPACE_TASKS_GATEWAY_URL") ?? null };
}

/** Keys are not sent in plain text over a network. `/graphql` at the end is what is added anyway. */
function parseAddress(text: string): string | undefined {
  if (!URL.canParse(text)) return undefined;
  const { protocol, hostname, origin, pathname, username } = new URL(text);
  const isSafe = protocol === "https:" || (protocol === "http:" && isLoopbackHost(hostname));
  if (!isSafe || username !== "") return undefined;
  return origin + pathname.replace(/\/(graphql\/?)?$/, "");
}

function keysOf({ env }: CommandIo): Partial<Record<KeyName, string>> {
  const given = keyNames.flatMap((name) => {
    const value = env[keyVariables[name]]?.trim();
    if (!value) return [];
    if (/[^\x21-\x7e]/.test(value))
      throw new CommandError(`${keyVariables[name]}: expected a key, got text with spaces or line breaks`, 2);
    return [[name, value] as const];
  });
  return Object.fromEntries(given);
}
