import { UsageError } from "../../../cli/command-error.ts";
import { type CommandIo, defineCommand, toJson, write } from "../../../cli/command-line.ts";
import { toggle } from "../../../cli/flags.ts";
import type { ClockView } from "../../control/mock/mock-routes.ts";
import { durationForms, parseDurationMs } from "../../time/duration.ts";
import { mockUrlFlags, withRunningMock } from "./running-mock.ts";

const flags = { ...mockUrlFlags, json: toggle("print one JSON document") };

/** Runs `workspace-tasks clock` and returns its exit code. */
export const runClockCommand = defineCommand({
  name: "clock",
  synopsis: "[advance <duration>] [options]",
  about: "Shows the time of a running mock, or advances its virtual clock.",
  parameters: [["advance <duration>", `${durationForms}; ends when everything due until then has settled`]],
  flags,
  notes: `Exit code: 0 done, 1 the mock did not respond or its clock is real, 2 wrong
arguments.`,
  async run({ positionals: [action, by, ...others], rest, flags }, io) {
    const [unexpected] = [...others, ...rest];
    if (unexpected !== undefined)
      throw new UsageError(`expected nothing more, got ${JSON.stringify(unexpected)}`);
    if (action !== undefined && action !== "advance")
      throw new UsageError(`expected advance or no argument, got ${JSON.stringify(action)}`);
    const byMs = parseDurationMs(by) ?? (/^\d+$/.test(by ?? "") ? Number(by) : undefined);
    if (action === "advance" && byMs === undefined) {
      const got = by === undefined ? "nothing" : JSON.stringify(by);
      throw new UsageError(`advance: expected ${durationForms}, got ${got}`);
    }
    return withRunningMock(flags, io, async (control) => {
      if (byMs !== undefined) await control.advanceClock({ by: byMs });
      return print(await control.getClock(), flags.json, io);
    });
  },
});

function print(clock: ClockView, json: boolean, io: CommandIo): 0 {
  if (json) return write(io, toJson(clock));
  const { now, mode, pendingTimers, nextTimerAt } = clock;
  const next = nextTimerAt === null ? "" : `, next at ${nextTimerAt}`;
  const timers = pendingTimers === null ? "" : `, ${pendingTimers} timers${next}`;
  return write(io, `${now} (${mode}${timers})\n`);
}
