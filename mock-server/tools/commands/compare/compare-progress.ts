import { type CommandIo, writeNotice } from "@workspace-tasks/kernel/cli/command-line.ts";
import type { Observation } from "../../compare/observe/observation.ts";

const everyMs = 5_000;
/** Shorter waits are not worth a line. */
const shownFromMs = 2_000;

/** One line on a terminal that overwrites itself; elsewhere, such as in a CI log, a line every five seconds. */
export function compareProgress(io: CommandIo) {
  const { stderr } = io;
  const isTerminal = stderr.isTTY === true;
  let latest = () => "connecting";
  let position = "";
  // A line that wraps could not be overwritten. The last column stays free, where some terminals wrap already.
  const fitting = (text: string) => text.slice(0, Math.max(1, (stderr.columns || 80) - 1));
  const print = () => {
    if (isTerminal) stderr.write(`\r\u001b[K${fitting(latest())}`);
    else writeNotice(io, "compare", latest());
  };
  const show = (text: () => string) => {
    latest = text;
    if (isTerminal) print();
  };
  show(latest);
  const timer = setInterval(print, isTerminal ? 1_000 : everyMs);
  return {
    onObservation({ probe }: Observation, done: number, total: number) {
      position = `[${String(done).padStart(String(total).length)}/${total}]`;
      show(() => `${position} ${probe}`);
    },
    onWait(ms: number, reason: string) {
      if (ms < shownFromMs) return;
      const endsAtMs = Date.now() + ms;
      const seconds = () => Math.max(0, Math.ceil((endsAtMs - Date.now()) / 1_000));
      show(() => `${position} waits ${seconds()} s ${reason}`.trimStart());
    },
    end() {
      clearInterval(timer);
      if (isTerminal) stderr.write("\r\u001b[K");
    },
  };
}
