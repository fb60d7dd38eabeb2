// One line for each request and each delivery attempt. The text of a line can come from anyone who reaches the mock:
// secrets are masked, and control characters, which could drive a terminal, are escaped.

import type { CommandIo } from "@workspace-tasks/kernel/cli/command-line.ts";
import { durationText, lineWidth, painter, usesColor, wrapLines } from "@workspace-tasks/kernel/layout.ts";
import { isPlainObject } from "@workspace-tasks/kernel/plain-object.ts";
import { visible } from "@workspace-tasks/kernel/visible.ts";
import { redactText } from "../graphql/redaction.ts";

/** An activity as the control API's stream has it, or a mock's `subscribe`. */
export interface LoggedActivity {
  readonly type: string;
  readonly [field: string]: unknown;
}

export interface LineOptions {
  readonly color: boolean;
  /** The date too, for a virtual clock whose days pass in a moment. */
  readonly date: boolean;
  /** The name of the world; absent for the mock's own. */
  readonly world?: string | undefined;
}

/** The line of an activity, without a line break; `null` for one that is not logged. */
export function lineOf(activity: LoggedActivity, options: LineOptions): string | null {
  const line = textOf(activity);
  return line && laidOut(line, timeOf(activity, options.date), options);
}

/** The line with its time in front, its secrets masked. */
function laidOut(
  { noun, status, level, subject, parts }: Line,
  time: string,
  { color, world: name }: Pick<LineOptions, "color" | "world">,
): string {
  const world = name === undefined ? "" : `[${name}] `;
  const text = plain(`${subject} ${parts.filter(Boolean).join(", ")}`.trimEnd());
  return `${time} ${world}${noun.padEnd(8)} ${painter(color)(status, level)} ${text}`;
}

/** What a line says, before it is laid out. */
export interface Line {
  readonly noun: string;
  readonly status: string;
  readonly level: "good" | "bad" | "info";
  readonly subject: string;
  /** Separated by commas; empty ones are left out. */
  readonly parts: readonly string[];
}

function textOf(activity: LoggedActivity): Line | null {
  switch (activity.type) {
    case "request.completed":
      return requestLine(fieldsOf(activity["request"]));
    case "delivery.attempted":
      return attemptLine(activity, fieldsOf(activity["attempt"]));
    case "clock.advanced":
      return note("clock", `advanced by ${activity["byMs"]} ms`);
    case "settings.changed":
    case "faults.changed":
      return note(activity.type.slice(0, -".changed".length), "changed");
    case "stream.restarted":
      return note("mock", "was reset, or restored from a snapshot");
    default:
      return null;
  }
}

const note = (noun: string, subject: string): Line => {
  return { noun, status: "---", level: "info", subject, parts: [] };
};

type Fields = Readonly<Record<string, unknown>>;

const fieldsOf = (value: unknown): Fields => (isPlainObject(value) ? value : {});

function requestLine(request: Fields): Line {
  const { status, rejection, durationMs, operationName } = request;
  const operations = (request["operations"] as readonly string[] | undefined)?.join(", ");
  const faults = (request["faults"] as readonly string[] | undefined) ?? [];
  const [error] = (request["errors"] as readonly Fields[] | undefined) ?? [];
  const reason =
    rejection === null || rejection === undefined ? "" : `${error?.["code"] ?? ""}: ${rejection}`;
  return {
    noun: "request",
    status: statusText(status),
    level: error || status === null ? "bad" : "good",
    subject: String(operations || operationName || "no operation"),
    parts: [
      `in ${durationText(Number(durationMs))}`,
      reason.replace(/^: /, ""),
      request["overridden"] === undefined ? "" : "override",
      faults.length > 0 ? `fault: ${faults.join(", ")}` : "",
    ],
  };
}

function attemptLine(delivery: LoggedActivity, attempt: Fields): Line {
  const { status, error, kind, durationMs } = attempt;
  const { event, endpointId, url, tries, triesMax } = delivery;
  const hasFailed = error !== null;
  return {
    noun: "delivery",
    status: statusText(status),
    level: hasFailed ? "bad" : "good",
    subject: `${event} → ${url == null ? endpointId : withoutSecrets(String(url))}`,
    parts: [
      `in ${durationText(Number(durationMs))}`,
      hasFailed ? withoutStatus(String(error)) : "",
      kind === "scheduled" ? `try ${tries} of ${triesMax}` : `${kind}`,
      hasFailed ? nextOf(delivery) : "",
    ],
  };
}

function nextOf(delivery: LoggedActivity): string {
  const { nextAttemptAt, status } = delivery;
  if (status === "failed") return "no try left";
  if (typeof nextAttemptAt !== "string") return "";
  return `next in ${durationText(Date.parse(nextAttemptAt) - Date.parse(timeOf(delivery, true)))}`;
}

const statusText = (status: unknown) => (typeof status === "number" ? String(status) : "---");

/** Why an attempt failed, beside its status: `status 401` adds nothing. */
export const withoutStatus = (error: string) => error.replace(/^status \d+(?:; )?/, "");

/** A URL may have a secret in its user info or query. The scheme of most, http, is left out. */
export function withoutSecrets(url: string): string {
  if (!URL.canParse(url)) return url;
  const { protocol, host, pathname, search } = new URL(url);
  return `${protocol === "http:" ? "" : `${protocol}//`}${host}${pathname}${search === "" ? "" : "?…"}`;
}

const textMax = 500;

const plain = (text: string) =>
  visible(redactText(text.length > textMax ? `${text.slice(0, textMax)}…` : text));

function timeOf({ at, atMs }: LoggedActivity, date: boolean): string {
  const text =
    typeof at === "string" ? at : new Date(typeof atMs === "number" ? atMs : Date.now()).toISOString();
  return date ? text : text.slice("2026-01-01T".length);
}

export interface LogOutput {
  print(activity: LoggedActivity, options: Omit<LineOptions, "color">): void;
  printLine(line: Line, time: string): void;
}

/** The log of a command. On a terminal lines are wrapped. */
export function createLogOutput(io: CommandIo): LogOutput {
  const color = usesColor(io);
  const write = createBoundedOutput(io.stdout, (line) => wrapLines(line, lineWidth(io.stdout), hanging));
  return {
    print(activity, options) {
      const line = lineOf(activity, { ...options, color });
      if (line !== null) write(line);
    },
    printLine: (line, time) => write(laidOut(line, time, { color })),
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
