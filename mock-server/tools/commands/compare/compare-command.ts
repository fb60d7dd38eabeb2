import { randomBytes } from "node:crypto";
import { appendFileSync } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import * as cli from "@workspace-tasks/kernel/cli/command-line.ts";
import { systemClock } from "@workspace-tasks/kernel/clock.ts";
import { lineWidth, reflow, usesColor } from "@workspace-tasks/kernel/layout.ts";
import type { SettingsChanges } from "@workspace-tasks/mock-server";
import { orFail, readSettings, reasonOf, secretForm } from "@workspace-tasks/mock-server/parts";
import { endpointsText, removalOf, removalText } from "../../compare/ask/created.ts";
import { type Captured, parseCaptured } from "../../compare/ask/deliveries.ts";
import {
  type Access,
  type KeyName,
  keyNames,
  keyVariables,
  type Service,
} from "../../compare/ask/service.ts";
import { compareFindings, compareService } from "../../compare/compare-service.ts";
import {
  type Finding,
  findingsInFile,
  parseRecord,
  recordHeader,
  recordLine,
} from "../../compare/findings.ts";
import {
  type CompareReport,
  exitCodeOf,
  renderJsonReport,
  renderJunitReport,
  renderTextReport,
} from "../../compare/report.ts";
import { rules } from "../../compare/rules/table.ts";
import {
  checkWritable,
  failuresOf,
  type Renderers,
  rendererOf,
  saveFile,
  saveReports,
} from "../output-file.ts";
import { progressLine, stepOf } from "../progress-line.ts";
import { requireAgreement } from "../service/service.ts";
import { addressFlag, addressIn, checkKey } from "../service-address.ts";

const compareFlags = {
  baseUrl: addressFlag("address of the service (WORKSPACE_TASKS_BASE_URL)"),
  gatewayUrl: addressFlag("address of the partner operations (WORKSPACE_TASKS_GATEWAY_URL)"),
  writes: cli.toggle("also create, change and remove webhook endpoints; asks first"),
  yes: cli.toggle("do not ask"),
  deliveries: cli.text("<file>", "deliveries that a receiver has captured; needs no service"),
  record: cli.text("<file>", "keep the facts, a line for each rule"),
  replay: cli.text("<file>", "evaluate a record again, without the service"),
  report: cli.repeated("<file>", "also write a report: .json or .xml (JUnit); repeatable"),
  write: cli.text("<file.json>", "write settings with which the mock does the same"),
  settings: cli.text("<file.json>", "settings of the mock to compare with (its defaults)"),
  json: cli.toggle("print one JSON document instead of text"),
};

type CompareFlags = cli.FlagValues<typeof compareFlags>;

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
  /** Appends to the record, if there is one: a fact is in the file before the next rule is asked. */
  readonly append: (finding: Finding) => void;
}

async function run(flags: CompareFlags, io: cli.CommandIo): Promise<number> {
  const access = accessOf(flags, io);
  await checkOutputs(flags);
  const settings = await readSettings({ settings: flags.settings, set: [] });
  const captured = flags.deliveries === undefined ? undefined : await readCaptured(flags.deliveries, io);
  if (access && flags.writes && !flags.yes) await confirmWrites(access.baseUrl, io);
  const failures: string[] = [];
  const append = await openRecord(flags.record, failures);
  const given: Given = { flags, settings, captured, append };
  const report = await (access ? compareNow(access, given, io) : compareFiles(given));
  // The report is printed first: what a run has found is not lost when a file cannot be written.
  if (flags.json) cli.writeData(io, renderJsonReport(report));
  else cli.write(io, renderTextReport(report, usesColor(io)), report.problem ? io.stderr : io.stdout);
  failures.push(...(await writeOutputs(flags, report, io)));
  for (const failure of failures) cli.writeNotice(io, "compare", failure);
  return failures.length > 0 ? 2 : exitCodeOf(report);
}

/** Addresses and keys; `null` when all facts come from files. @throws UsageError for what is missing or does not go together */
function accessOf(flags: CompareFlags, io: cli.CommandIo): Access | null {
  const { baseUrl, replay, record, writes, deliveries } = flags;
  if (replay !== undefined) {
    const other = writes ? "--writes" : record === undefined ? null : "--record";
    if (other !== null) throw new cli.UsageError(`expected --replay or ${other}, got both`);
    return null;
  }
  const base = baseUrl ?? addressIn("WORKSPACE_TASKS_BASE_URL", io);
  const keys = keysOf(io);
  const names = Object.keys(keys) as readonly KeyName[];
  if (deliveries !== undefined && !baseUrl && !writes && !(base && names.length > 0)) return null;
  if (!base) throw new cli.UsageError("expected --base-url <url> or WORKSPACE_TASKS_BASE_URL");
  if (names.length === 0)
    throw new cli.UsageError(`expected a key in ${keyVariables.admin}, or another one that --help names`);
  const gatewayUrl = flags.gatewayUrl ?? addressIn("WORKSPACE_TASKS_GATEWAY_URL", io) ?? null;
  for (const name of names) {
    const same = names.find((other) => other !== name && keys[other] === keys[name]);
    if (same)
      throw new cli.UsageError(`${keyVariables[same]}: expected another key than ${keyVariables[name]}`);
    if ([base, gatewayUrl].some((url) => url?.includes(keys[name] ?? "")))
      throw new cli.UsageError(`expected a URL without a key, got one with the key of ${keyVariables[name]}`);
  }
  return { baseUrl: base, gatewayUrl, keys };
}

function keysOf({ env }: cli.CommandIo): Access["keys"] {
  const given = keyNames.flatMap((name) => {
    const value = env[keyVariables[name]]?.trim();
    return value ? [[name, checkKey(keyVariables[name], value)] as const] : [];
  });
  return Object.fromEntries(given);
}

/** A record and a file of deliveries are evaluated without a service and without a key. */
async function compareFiles({ flags, settings, captured, append }: Given): Promise<CompareReport> {
  const recorded = flags.replay === undefined ? [] : await readRecord(flags.replay);
  const found = captured ? await findingsInFile(captured) : [];
  const names = new Set(found.map(({ rule }) => rule));
  const findings = [...recorded.filter(({ rule }) => !names.has(rule)), ...found];
  for (const finding of findings) append(finding);
  return compareFindings(findings, settings);
}

async function compareNow(
  access: Access,
  { flags, settings, captured, append }: Given,
  io: cli.CommandIo,
): Promise<CompareReport> {
  const progress = progressLine(io, "compare", "connecting");
  let position = "";
  let leftText = () => "";
  try {
    return await compareService({
      access,
      fetch: (url, init) => fetch(url, init),
      clock: systemClock,
      writes: flags.writes,
      runId: randomBytes(5).toString("hex"),
      settings,
      captured,
      signal: io.stop,
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
  const lines = rules.filter(({ needs }) => needs === "writes").map(({ id, says }) => `  ${id}: ${says}\n`);
  const text = `compare would send mutations to ${baseUrl}, to find out whether

${lines.join("")}
The webhook endpoints have URLs at receiver.invalid, or at the loopback address of the service, where no receiver gets a
delivery. Each is removed at the end of its rule, also after Ctrl-C. The other mutations refer to records that do not exist,
or are validated without being executed.
`;
  io.stderr.write(`${reflow(text, lineWidth(io.stderr))}\n`);
  if (!io.ask)
    throw new cli.UsageError("--writes: expected a terminal to ask at; write --writes --yes to agree");
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

const renderers: Renderers<CompareReport> = { ".json": renderJsonReport, ".xml": renderJunitReport };

/** Checked before anything is sent: a run takes minutes. @throws CommandError for a file that cannot be written */
async function checkOutputs({ report, write, record }: CompareFlags): Promise<void> {
  for (const path of report) {
    rendererOf(renderers, path);
    await checkWritable("--report", path);
  }
  if (write !== undefined) await checkWritable("--write", write);
  if (record !== undefined) await checkWritable("--record", record);
}

/** Writes every file that it can. @returns what failed, a sentence each */
async function writeOutputs(
  { report: reports, write }: CompareFlags,
  report: CompareReport,
  io: cli.CommandIo,
): Promise<readonly string[]> {
  const settings = write !== undefined && !report.problem ? [writeSettings(write, report, io)] : [];
  return failuresOf([...saveReports(renderers, reports, report), ...settings]);
}

async function writeSettings(path: string, report: CompareReport, io: cli.CommandIo): Promise<void> {
  const { settings, notExpressed } = report;
  const $schema = "./node_modules/@workspace-tasks/mock-server/mock-settings.schema.json";
  await saveFile("--write", path, `${JSON.stringify({ $schema, ...settings }, null, 2)}\n`);
  cli.writeNotice(io, "compare", `wrote ${path}; use it with workspace-tasks mock --settings ${path}`);
  if (notExpressed.length > 0) {
    cli.writeNotice(io, "compare", `no setting expresses ${notExpressed.join(", ")}`);
  }
}

/** @param failures gets why the record is incomplete, when the disk is full, for example */
async function openRecord(path: string | undefined, failures: string[]): Promise<Given["append"]> {
  if (path === undefined) return () => {};
  const target = await saveFile("--record", path, recordHeader);
  let hasFailed = false;
  return (finding) => {
    if (hasFailed) return;
    try {
      appendFileSync(target, recordLine(finding));
    } catch (error) {
      hasFailed = true;
      failures.push(`--record: cannot write ${path}: ${reasonOf(error)}`);
    }
  };
}

async function readRecord(path: string): Promise<readonly Finding[]> {
  const text = await readText("--replay", path, 64);
  return orFail(`--replay: ${path}`, () => parseRecord(text));
}

const secretVariable = "WORKSPACE_TASKS_SIGNING_SECRET";

/** Reads a file of captured deliveries; its secrets come from the environment. */
async function readCaptured(path: string, { env }: cli.CommandIo): Promise<Captured> {
  const secrets = (env[secretVariable] ?? "").split(/[\s,]+/).filter(Boolean);
  if (secrets.length === 0 || !secrets.every((secret) => secretForm.test(secret)))
    throw new cli.UsageError(
      `--deliveries: expected the endpoint's secrets in ${secretVariable}, the newest first`,
    );
  const text = await readText("--deliveries", path, 256);
  return { deliveries: await orFail(`--deliveries: ${path}`, () => parseCaptured(text)), secrets };
}

/** @throws CommandError for what is no file, or has more megabytes */
async function readText(flag: string, path: string, megabytesMax: number): Promise<string> {
  const text = await orFail(`${flag}: cannot read ${path}`, async () => {
    const found = await stat(path);
    // A device such as /dev/zero has no end.
    if (found.isCharacterDevice()) throw Object.assign(new Error(), { code: "ENXIO" });
    return found.size <= megabytesMax * 1_048_576 ? readFile(path, "utf8") : undefined;
  });
  if (text !== undefined) return text.replace(/^\ufeff/, "");
  throw new cli.CommandError(`${flag}: ${path} has more than ${megabytesMax} MB`);
}
