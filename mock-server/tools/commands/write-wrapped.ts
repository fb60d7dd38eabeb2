import type { CommandIo } from "@workspace-tasks/kernel/cli/command-line.ts";
import { lineWidth } from "@workspace-tasks/kernel/layout/terminal.ts";
import { wrapLines } from "@workspace-tasks/kernel/layout/text.ts";

/** Writes lines within the width of the terminal. */
export function writeWrapped(output: CommandIo["stdout"] | CommandIo["stderr"], text: string): void {
  output.write(wrapLines(text, lineWidth(output)));
}
