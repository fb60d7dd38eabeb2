import type { CommandIo } from "@workspace-tasks/kernel/cli/command-line.ts";
import type { Observation } from "../../compare/observe/observation.ts";
import { progressLine, stepOf } from "../progress-line.ts";

/** Shorter waits are not worth a line. */
const shownFromMs = 2_000;

/** Shows the probe that was sent last, or what is waited for. */
export function compareProgress(io: CommandIo) {
  const { show, notice, end } = progressLine(io, "compare", "connecting");
  let position = "";
  return {
    onObservation({ probe }: Observation, done: number, total: number) {
      position = stepOf(done, total);
      show(() => `${position} ${probe}`);
    },
    onWait(ms: number, reason: string) {
      if (ms < shownFromMs) return;
      const endsAtMs = Date.now() + ms;
      const seconds = () => Math.max(0, Math.ceil((endsAtMs - Date.now()) / 1_000));
      show(() => `${position} waits ${seconds()} s ${reason}`.trimStart());
    },
    /** What happens after a signal. */
    ending(text: string) {
      notice(text);
      show(() => "ending");
    },
    end,
  };
}
