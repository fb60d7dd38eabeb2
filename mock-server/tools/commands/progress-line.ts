import { type CommandIo, writeNotice } from "@workspace-tasks/kernel/cli/command-line.ts";

const clearLine = "\r\u001b[K";

/**
 * What a command does now, on stderr: on a terminal one line that overwrites itself, once a second; elsewhere, such as in a CI
 * log, a line every five seconds.
 * @param name of the command. @param first shown before anything is done
 */
export function progressLine(io: CommandIo, name: string, first: string) {
  const { stderr } = io;
  const isTerminal = stderr.isTTY === true;
  let latest = () => first;
  // A line that wraps could not be overwritten. The last column stays free, where some terminals wrap already.
  const fitting = (text: string) => text.slice(0, Math.max(1, (stderr.columns || 80) - 1));
  const print = () => {
    if (isTerminal) stderr.write(`${clearLine}${fitting(latest())}`);
    else writeNotice(io, name, latest());
  };
  const show = (text: () => string) => {
    latest = text;
    if (isTerminal) print();
  };
  const clear = () => {
    if (isTerminal) stderr.write(clearLine);
  };
  show(latest);
  const timer = setInterval(print, isTerminal ? 1_000 : 5_000);
  return {
    /** @param text is called at every output */
    show,
    /** Writes a line that stays, at once. */
    notice(text: string) {
      clear();
      writeNotice(io, name, text);
    },
    end() {
      clearInterval(timer);
      clear();
    },
  };
}

/** Such as `[ 3/40]`. */
export const stepOf = (done: number, total: number): string =>
  `[${String(done).padStart(String(total).length)}/${total}]`;
