// One line for each request and each delivery attempt. The text of a line can come from anyone who reaches the mock:
// secrets are masked, and control characters, which could drive a terminal, are escaped.

import { isPlainObject } from "@workspace-tasks/kernel/plain-object.ts";
import { redactText } from "../graphql/documents/redaction.ts";

/** As the control API's stream has it, or a mock's `subscribe`. */
export interface LoggedActivity {
  readonly type: string;
  readonly [field: string]: unknown;
}

export interface LineOptions {
  readonly color: boolean;
  /** The date too, for a virtual clock whose days pass in a moment. */
  readonly date: boolean;
  /** Of a named world. */
  readonly world?: string | undefined;
}

/** The line of an activity, without a line break; `null` for one that is not logged. */
export function lineOf(activity: LoggedActivity, options: LineOptions): string | null {
  const line = textOf(activity);
  if (!line) return null;
  const time = timeOf(activity, options.date);
  const world = options.world === undefined ? "" : `[${options.world}] `;
  const status = options.color ? `\u001B[${colors[line.level]}m${line.status}\u001B[0m` : line.status;
  return `${time} ${world}${line.noun.padEnd(8)} ${status} ${plain(line.text)}`;
}

interface Line {
  readonly noun: string;
  readonly status: string;
  readonly level: "good" | "bad" | "neutral";
  readonly text: string;
}

const colors = { good: 32, bad: 31, neutral: 36 } as const;

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

const note = (noun: string, text: string): Line => ({ noun, status: "---", level: "neutral", text });

type Fields = Readonly<Record<string, unknown>>;

const fieldsOf = (value: unknown): Fields => (isPlainObject(value) ? value : {});

function requestLine(request: Fields): Line {
  const { status, rejection, durationMs, operationName } = request;
  const operations = (request["operations"] as readonly string[] | undefined)?.join(", ");
  const faults = (request["faults"] as readonly string[] | undefined) ?? [];
  const [error] = (request["errors"] as readonly Fields[] | undefined) ?? [];
  const reason =
    rejection === null || rejection === undefined ? "" : `${error?.["code"] ?? ""}: ${rejection}`;
  const parts = [
    operations || operationName || "no operation",
    `${Math.round(Number(durationMs))} ms`,
    reason.replace(/^: /, ""),
    request["overridden"] === undefined ? "" : "(override)",
    faults.length > 0 ? `(fault: ${faults.join(", ")})` : "",
  ];
  return {
    noun: "request",
    status: statusText(status),
    level: error || status === null ? "bad" : "good",
    text: parts.filter(Boolean).join("  "),
  };
}

function attemptLine(delivery: LoggedActivity, attempt: Fields): Line {
  const { status, error, number, kind, durationMs } = attempt;
  const hasFailed = error !== null;
  const next = delivery["nextAttemptAt"];
  const parts = [
    `${delivery["event"]} → ${withoutSecrets(String(delivery["url"] ?? delivery["endpointId"]))}`,
    `${durationMs} ms`,
    `attempt ${number}${kind === "scheduled" ? "" : ` (${kind})`}`,
    hasFailed ? `${error}` : "",
    hasFailed && typeof next === "string" ? `next ${next}` : "",
    hasFailed && delivery["status"] === "failed" ? "no attempt left" : "",
  ];
  return {
    noun: "delivery",
    status: statusText(status),
    level: hasFailed ? "bad" : "good",
    text: parts.filter(Boolean).join("  "),
  };
}

const statusText = (status: unknown) => (typeof status === "number" ? String(status) : "---");

/** A URL may have a secret in its user info or query. */
function withoutSecrets(url: string): string {
  if (!URL.canParse(url)) return url;
  const { protocol, host, pathname, search } = new URL(url);
  return `${protocol}//${host}${pathname}${search === "" ? "" : "?…"}`;
}

const textMax = 500;

const plain = (text: string) =>
  redactText(text.length > textMax ? `${text.slice(0, textMax)}…` : text).replaceAll(
    /\p{Cc}/gu,
    (character) => JSON.stringify(`${character}`).slice(1, -1).replace("\u007f", "\\u007f"),
  );

function timeOf({ at, atMs }: LoggedActivity, date: boolean): string {
  const text =
    typeof at === "string" ? at : new Date(typeof atMs === "number" ? atMs : Date.now()).toISOString();
  return date ? text : text.slice("2026-01-01T".length);
}

/** What a reader has not read yet; with more of it lines are counted instead. */
const unreadBytesMax = 1_048_576;

/** Writes lines as long as their reader follows: the next line that is written says how many were left out. */
export function createBoundedOutput(stdout: {
  write(text: string): unknown;
  readonly writableLength?: number | undefined;
}): (line: string) => void {
  let leftOut = 0;
  return (line) => {
    if ((stdout.writableLength ?? 0) >= unreadBytesMax) {
      leftOut++;
      return;
    }
    stdout.write(leftOut > 0 ? `… ${leftOut} lines left out\n${line}\n` : `${line}\n`);
    leftOut = 0;
  };
}
