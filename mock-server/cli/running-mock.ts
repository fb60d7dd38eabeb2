// Commands that ask a running mock: how they find it, and the short ones. Each is a call of the control API.

import {
  CommandError,
  type CommandIo,
  defineCommand,
  flag,
  noArgument,
  toggle,
  toJson,
  UsageError,
  write,
  writeData,
} from "@workspace-tasks/kernel/cli/command-line.ts";
import { painter, usesColor } from "@workspace-tasks/kernel/layout.ts";
import { isHttpUrl } from "../checks.ts";
import type { ControlApi } from "../control/control-api.ts";
import { createControlClient } from "../control/control-client.ts";
import type { DeliveryDetail } from "../control/deliveries.ts";
import type { ClockView } from "../control/mock.ts";
import { isMockServerError, MockServerError } from "../errors.ts";
import { readSnapshotFile, writeSnapshotFile } from "../node/snapshot-file.ts";
import { durationForms, parseDurationMs } from "../time/duration.ts";
import { withoutSecrets, withoutStatus } from "./activity-log.ts";
import { orFail } from "./read-settings.ts";

const baseUrlName = "WORKSPACE_TASKS_BASE_URL";

export const mockUrlFlags = {
  mock: flag("<url>", "address of the mock (WORKSPACE_TASKS_BASE_URL, or http://127.0.0.1:4010)", {
    parse: toMockUrl,
    expected: "a URL such as http://127.0.0.1:4010, or a port",
    // User info may be a password.
    show: (url) => url.replace(/\/\/[^/]*@/, "//…@"),
  }),
  world: flag("<name>", "one of the mock's worlds (its own)", {
    parse: (value) => (/^[\w-]{1,64}$/.test(value) ? value : undefined),
    expected: "letters, digits, hyphens and underscores",
  }),
};

interface MockAddress {
  readonly mock: string | undefined;
  readonly world: string | undefined;
}

function toMockUrl(value: string): string | undefined {
  const url = /^\d{1,5}$/.test(value) ? `http://127.0.0.1:${value}` : value;
  return isHttpUrl(url) ? url : undefined;
}

/** The `baseUrl` of the mock, or of its world. */
export function mockUrlOf({ mock, world }: MockAddress, { env }: CommandIo): string {
  const { [baseUrlName]: given } = env;
  const url = mock ?? mockUrlFlags.mock.parse(baseUrlName, given ? [given] : []) ?? "http://127.0.0.1:4010";
  const base = url.replace(/\/+$/, "");
  return world === undefined ? base : `${base.replace(/\/w\/[\w-]+$/, "")}/w/${world}`;
}

/** Calls the control API of the running mock; an error becomes one sentence with what to do. */
export async function withRunningMock<Result>(
  address: MockAddress,
  io: CommandIo,
  use: (control: ControlApi) => Promise<Result>,
): Promise<Result> {
  const baseUrl = mockUrlOf(address, io);
  const control = createControlClient({ baseUrl });
  try {
    // What another server responds to the command itself may look like a success.
    if ((await control.getHealth()).status !== "ok")
      throw new MockServerError("RESPONSE_INVALID", `expected a mock at ${baseUrl}, got another server`);
    return await use(control);
  } catch (error) {
    throw explain(error);
  }
}

function explain(error: unknown): unknown {
  if (!isMockServerError(error)) return error;
  return new CommandError(`${error.message}${remedies[error.code] ?? ""}`);
}

const remedies: Readonly<Record<string, string>> = {
  NETWORK_FAILED: '; start one with "workspace-tasks mock" or pass --mock <url>',
  RESPONSE_INVALID: "; pass the address of a mock with --mock <url>",
  CLOCK_IS_REAL: ": workspace-tasks mock --clock virtual",
};

const clockFlags = { ...mockUrlFlags, json: toggle("print one JSON document") };

/** Runs `workspace-tasks clock` and returns its exit code. */
export const runClockCommand = defineCommand({
  name: "clock",
  synopsis: "[advance <duration> | next] [options]",
  about: "Shows the time of a running mock, or advances its virtual clock.",
  parameters: [
    ["advance <duration>", `${durationForms}; ends when everything due until then has settled`],
    ["next", "advances to the next timer"],
  ],
  flags: clockFlags,
  notes: `Exit code: 0 done, 1 the mock did not respond or its clock is real, 2 wrong
arguments.`,
  run: ({ positionals: [action, by, ...others], rest, flags }, io) =>
    withRunningMock(flags, io, async (control) => {
      const unexpected = [...others, ...rest, ...(action === "next" && by !== undefined ? [by] : [])];
      if (unexpected.length > 0)
        throw new UsageError(`expected nothing more, got ${JSON.stringify(unexpected[0])}`);
      if (action === undefined) return print(await control.getClock(), flags.json, io);
      if (action === "advance") {
        if (parseDurationMs(by) === undefined && !/^\d+$/.test(by ?? "")) {
          throw new UsageError(
            `advance: expected ${durationForms}, got ${by === undefined ? "nothing" : JSON.stringify(by)}`,
          );
        }
        const byMs = parseDurationMs(by) ?? Number(by);
        await control.advanceClock({ by: byMs });
      } else if (action === "next") {
        const { now, nextTimerAt } = await control.getClock();
        if (nextTimerAt === null) await control.advanceClock({ by: 0 });
        else await control.advanceClock({ by: Math.max(0, Date.parse(nextTimerAt) - Date.parse(now)) });
      } else throw new UsageError(`expected advance, next or no argument, got ${JSON.stringify(action)}`);
      return print(await control.getClock(), flags.json, io);
    }),
});

function print(clock: ClockView, json: boolean, io: CommandIo): 0 {
  if (json) return writeData(io, toJson(clock));
  const { now, mode, pendingTimers, nextTimerAt } = clock;
  const next = nextTimerAt === null ? "" : `, next at ${nextTimerAt}`;
  const timers = pendingTimers === null ? "" : `, ${pendingTimers} timers${next}`;
  return write(io, `${now} (${mode}${timers})\n`);
}

/** Runs `workspace-tasks reset` and returns its exit code. */
export const runResetCommand = defineCommand({
  name: "reset",
  synopsis: "[options]",
  about: `Returns a running mock to its start: state, ids, keys, time, rate limits,
journal, faults, overrides and settings.`,
  flags: mockUrlFlags,
  notes: "Exit code: 0 done, 1 the mock did not respond, 2 wrong arguments.",
  run(args, io) {
    noArgument(args);
    return withRunningMock(args.flags, io, async (control) => {
      await control.reset();
      return write(io, `${mockUrlOf(args.flags, io)} was reset\n`);
    });
  },
});

/** Runs `workspace-tasks snapshot` and returns its exit code. */
export const runSnapshotCommand = defineCommand({
  name: "snapshot",
  synopsis: "save|restore <file.json> [options]",
  about: `Saves the whole state of a running mock to a file, or restores one. A mock can
also start from such a file: workspace-tasks mock --state <file.json>.`,
  parameters: [
    ["save <file.json>", "writes the file, or - for standard output; replaces a snapshot"],
    ["restore <file.json>", "replaces the state of the mock"],
  ],
  flags: mockUrlFlags,
  notes: `Exit code: 0 done, 1 the file cannot be used or the mock did not respond, 2
wrong arguments.`,
  run({ positionals: [action, file, ...others], rest, flags }, io) {
    if (action !== "save" && action !== "restore") {
      throw new UsageError(
        `expected save or restore, got ${action === undefined ? "nothing" : JSON.stringify(action)}`,
      );
    }
    if (file === undefined || others.length + rest.length > 0) {
      throw new UsageError(
        `${action}: expected one file, such as state.json, got ${file === undefined ? "none" : "several"}`,
      );
    }
    return withRunningMock(flags, io, async (control) => {
      if (action === "save") return save(control, file, io);
      await restore(control, file);
      return write(io, `restored from ${file}\n`);
    });
  },
});

async function save(control: ControlApi, file: string, io: CommandIo): Promise<0> {
  const text = JSON.stringify(await control.getSnapshot());
  if (file === "-") return writeData(io, `${text}\n`);
  const remedy = "; name another file, or - to print";
  await orFail(`save: cannot write ${file}`, () => writeSnapshotFile(file, text), remedy);
  return write(io, `saved to ${file}\n`);
}

async function restore(control: ControlApi, file: string): Promise<void> {
  const snapshot = await orFail(`restore: cannot use ${file}`, () => readSnapshotFile(file));
  if (!snapshot) throw new CommandError(`restore: there is no file ${file}`);
  await control.restoreSnapshot(snapshot);
}

const resendFlags = {
  ...mockUrlFlags,
  unsuccessful: toggle("every delivery whose last attempt failed, oldest first"),
  json: toggle("print one JSON document per delivery"),
};

/** Runs `workspace-tasks resend` and returns its exit code. */
export const runResendCommand = defineCommand({
  name: "resend",
  synopsis: "<delivery-id>… | --unsuccessful [options]",
  about: `Sends deliveries of a running mock again, with their id and a new signature, and
prints how the receiver responded. The retry schedule does not change.`,
  parameters: [["<delivery-id>", "the webhook-id of the delivery, or latest"]],
  flags: resendFlags,
  notes: `Exit code: 0 the receiver acknowledged all, 1 it did not, there was none, or the
mock did not respond, 2 wrong arguments.`,
  run: ({ positionals, rest, flags: { unsuccessful, json, ...address } }, io) => {
    const given = [...positionals, ...rest];
    if (unsuccessful === given.length > 0) {
      throw new UsageError(
        "expected delivery ids, or --unsuccessful alone; workspace-tasks logs --json has the ids",
      );
    }
    return withRunningMock(address, io, async (control) => {
      const ids = unsuccessful ? await unsuccessfulIds(control) : given;
      if (ids.length === 0) throw new CommandError("no delivery has failed");
      let code = 0;
      for (const id of ids) {
        const delivery = await control.replayDelivery(id === "latest" ? await latestId(control) : id);
        if (json) writeData(io, `${JSON.stringify(delivery)}\n`);
        else write(io, lineOf(delivery, io));
        if (delivery.attempts.at(-1)?.error !== null) code = 1;
      }
      return code;
    });
  },
});

async function latestId(control: ControlApi): Promise<string> {
  const [latest] = (await control.listDeliveries({ order: "desc", limit: 1 })).data;
  if (latest) return latest.id;
  throw new CommandError("there is no delivery yet; workspace-tasks trigger task.completed sends one");
}

async function unsuccessfulIds(control: ControlApi): Promise<readonly string[]> {
  const ids: string[] = [];
  let iterator: string | null = null;
  do {
    const from = iterator === null ? {} : { iterator };
    const page = await control.listDeliveries({ rejected: true, limit: 1_000, ...from });
    ids.push(...page.data.map(({ id }) => id));
    ({ iterator } = page);
  } while (iterator !== null);
  return ids;
}

function lineOf({ id, event, url, endpointId, attempts }: DeliveryDetail, io: CommandIo): string {
  const { status = null, error = null } = attempts.at(-1) ?? {};
  const shown = painter(usesColor(io))(String(status ?? "---"), error === null ? "good" : "bad");
  const reason = error === null ? "acknowledged" : withoutStatus(error) || "not acknowledged";
  return `${event} → ${withoutSecrets(url ?? endpointId)} ${shown} ${reason} (${id})\n`;
}
