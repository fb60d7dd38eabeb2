import {
  type CommandIo,
  defineCommand,
  toggle,
  toJson,
  UsageError,
  write,
  writeData,
} from "@workspace-tasks/kernel/cli/command-line.ts";
import type { ClockView } from "../../control/mock/mock-routes.ts";
import { durationForms, parseDurationMs } from "../../time/duration.ts";
import { mockUrlFlags, withRunningMock } from "./running-mock.ts";

const flags = { ...mockUrlFlags, json: toggle("print one JSON document") };

/** Runs `workspace-tasks clock` and returns its exit code. */
export const runClockCommand = defineCommand({
  name: "clock",
  synopsis: "[advance <duration> | next] [options]",
  about: "Shows the time of a running mock, or advances its virtual clock.",
  parameters: [
    ["advance <duration>", `${durationForms}; ends when everything due until then has settled`],
    ["next", "advances to the next timer"],
  ],
  flags,
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
