import type { CommandIo } from "@workspace-tasks/kernel/cli/command-line.ts";
import { lineWidth, painter, usesColor, wrapLines } from "@workspace-tasks/kernel/layout.ts";
import {
  type Line,
  type LineOptions,
  type LoggedActivity,
  type LogLine,
  laidOut,
  lineOf,
} from "./activity-log.ts";

export interface LogOutput {
  print(activity: LoggedActivity, options: Omit<LineOptions, "color">): void;
  printLine(line: Line, time: string): void;
  /** Prints what is counted of equal lines. */
  end(): void;
}

/** The log of a command. On a terminal lines are wrapped, and equal ones within a second are counted. */
export function createLogOutput(io: CommandIo): LogOutput {
  const color = usesColor(io);
  const write = createBoundedOutput(io.stdout, (line) => wrapLines(line, lineWidth(io.stdout), hanging));
  const groups = io.isTTY ? createLineGroups(write, painter(color)) : null;
  const add = (line: LogLine) => {
    if (groups) groups.add(line);
    else write(`${line.time} ${line.text}`);
  };
  return {
    print(activity, options) {
      const line = lineOf(activity, { ...options, color });
      if (line) add(line);
    },
    printLine: (line, time) => add(laidOut(line, time, { color })),
    end: () => groups?.flush(),
  };
}

const groupMs = 1_000;
/** Different lines within the time of a group; more are printed one by one. */
const groupsMax = 200;

/** Writes the first of equal lines at once, and how many more there were when a second has passed. */
export function createLineGroups(write: (line: string) => void, paint: ReturnType<typeof painter>) {
  const groups = new Map<string, { more: number; last: LogLine }>();
  let timer: NodeJS.Timeout | undefined;

  function flush(): void {
    clearTimeout(timer);
    timer = undefined;
    for (const { more, last } of groups.values()) {
      if (more === 1) write(`${last.time} ${last.text}`);
      if (more > 1) write(`${last.time} ${last.group} ${paint(`(${more} more)`, "dim")}`);
    }
    groups.clear();
  }

  return {
    flush,
    add(line: LogLine) {
      const group = groups.get(line.group);
      if (group) {
        group.more += 1;
        group.last = line;
        return;
      }
      write(`${line.time} ${line.text}`);
      if (groups.size < groupsMax) groups.set(line.group, { more: 0, last: line });
      timer ??= setTimeout(flush, groupMs).unref();
    },
  };
}

/** What a reader has not read yet; with more of it lines are counted instead. */
const unreadBytesMax = 1_048_576;
/** Where the rest of a wrapped line begins: behind the time. */
const hanging = 14;

/** Writes lines as long as their reader follows: the next line that is written says how many were left out. */
export function createBoundedOutput(
  stdout: CommandIo["stdout"],
  layout = (line: string) => line,
): (line: string) => void {
  let leftOut = 0;
  return (line) => {
    if ((stdout.writableLength ?? 0) >= unreadBytesMax) {
      leftOut++;
      return;
    }
    stdout.write(leftOut > 0 ? `… ${leftOut} lines left out\n${layout(line)}\n` : `${layout(line)}\n`);
    leftOut = 0;
  };
}
