// Texts of the page about endpoints, requests, bodies, deliveries and faults.

import type {
  ApiFault,
  DeliveryDetail,
  DeliveryFault,
  FaultPlan,
  RecordedRequest,
} from "@workspace-tasks/mock-server/control";
import { formatDuration, formatExact, formatRelative, indentJson } from "@workspace-tasks/page-parts/text.ts";

/** The URL of an endpoint without its scheme. */
export const nameOfEndpoint = (url: string | null): string =>
  url?.replace(/^https?:\/\//, "").replace(/\/$/, "") ?? "a deleted endpoint";

/** The URL in few characters: the host stays, the middle is cut, the end of the path is what differs. */
export function labelOfEndpoint(url: string | null, charsMax = 40): string {
  const name = nameOfEndpoint(url);
  if (name.length <= charsMax) return name;
  const host = name.slice(0, `${name}/`.indexOf("/"));
  const startChars = Math.min(host.length + 1, Math.ceil(charsMax * 0.6));
  return `${name.slice(0, startChars)}…${name.slice(1 + startChars - charsMax)}`;
}

/** `refused`, `timed out`, or `no response` after another failure of the connection. */
export function reasonOfFailure(error: string | null): string {
  if (error?.startsWith("ECONNREFUSED")) return "refused";
  return error && /response within/.test(error) ? "timed out" : "no response";
}

export const nameOf = ({ operationName, operations }: RecordedRequest) =>
  operationName ?? (operations.join(", ") || "(no valid document)");

/** Why it was rejected, in more detail than its caller got; or what happened to the response. */
export function reasonOf({ errors, rejection, faults, status }: RecordedRequest): string {
  return (
    rejection ??
    errors[0]?.message ??
    (faults.length > 0 ? `fault: ${faults.join(", ")} ${status ?? ""}`.trimEnd() : `${status}`)
  );
}

/** When the window of a rate limit ends. One that has ended is read again, which takes a moment. */
export const formatReset = (atMs: number, nowMs: number): string =>
  atMs <= nowMs ? "frees now" : `frees ${formatRelative(atMs, nowMs)}`;

/** `204 in 12 ms`: a text, a word and a duration, or the text alone: on a virtual clock a response takes no time. */
export const withDuration = (text: string | number, word: string, durationMs: number): string =>
  Math.round(durationMs) > 0 ? `${text}${word} ${formatDuration(durationMs)}` : `${text}`;

/** JSON with indentation; other text, such as an altered or truncated body, unchanged. */
export const formatBody = (body: string): string => indentJson(body) ?? body;

interface HttpRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/**
 * A request as a shell command; single quotes in it are closed, escaped and opened again. `-g` takes braces and brackets
 * of the URL as they are, and `--data-raw` an @ at the start of the body.
 */
export function toCurl({ url, headers, body }: HttpRequest): string {
  const quote = (text: string) => `'${text.replace(/'/g, `'\\''`)}'`;
  const lines = Object.entries(headers)
    .filter(([name]) => !["content-length", "host", "connection"].includes(name.toLowerCase()))
    .map(([name, value]) => `-H ${quote(`${name}: ${value}`)}`);
  return ["curl -g -X POST", quote(url), ...lines, `--data-raw ${quote(body)}`].join(" \\\n  ");
}

/** The text of a page without its markup, in one line; other text unchanged. */
export function firstWords(body: string, charsMax = 300): string {
  const text = /^\s*</.test(body)
    ? body.replace(/<(style|script|head)\b[\s\S]*?<\/\1>/gi, " ").replace(/<[^>]*>/g, " ")
    : body;
  const line = text.replace(/\s+/g, " ").trim();
  return line.length > charsMax ? `${line.slice(0, charsMax)} …` : line;
}

/** @throws Error that begins with `what`, such as "the variables are", for a text that is not JSON */
export function parseJson(what: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error(`${what} not JSON: ${error instanceof Error ? error.message : error}`);
  }
}

/** A report of one delivery, for an issue or a chat: what was sent where, each attempt, the last response. */
export function deliveryMarkdown(delivery: DeliveryDetail, link: string): string {
  const { attempts, event, url, id, taskId, client, nextAttemptAt } = delivery;
  const last = attempts.at(-1);
  const facts = { delivery: `[${id}](${link})`, task: taskId, client, "next attempt": nextAttemptAt };
  const rows = attempts.map(
    ({ number, startedAt, status, error, durationMs }) =>
      `| ${number} | ${formatExact(startedAt)} | ${status ?? "no response"} | ${formatDuration(durationMs)} | ${cell(error)} |`,
  );
  return [
    `### ${event} → ${url ?? "a deleted endpoint"}`,
    Object.entries(facts)
      .filter(([, value]) => value)
      .map(([name, value]) => `- ${name}: ${value}`)
      .join("\n"),
    ["| # | time | response | duration | error |", "|---|---|---|---|---|", ...rows].join("\n"),
    ...(last ? [`Body:\n${fenced(last.requestBody)}`] : []),
    ...(last?.responseBody ? [`Last response:\n${fenced(last.responseBody)}`] : []),
  ].join("\n\n");
}

const cell = (text: string | null) => (text ?? "").replace(/\|/g, "\\|").replace(/\s+/g, " ");

/** The fence has more backticks than the text has in a row. */
function fenced(text: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = "`".repeat(longest + 1);
  return `${fence}\n${formatBody(text)}\n${fence}`;
}

export interface Preset<Fault> {
  readonly label: string;
  readonly fault: Fault;
}

export const apiPresets = [
  { label: "429 of the service", fault: { kind: "rate-limited", retryAfterSeconds: 1 } },
  { label: "503", fault: { kind: "status", status: 503, retryAfterSeconds: 1 } },
  { label: "an HTML page", fault: { kind: "html" } },
  { label: "response cut in half", fault: { kind: "truncate" } },
  { label: "connection cut before the effect", fault: { kind: "reset-before-effect" } },
  { label: "connection cut after the effect", fault: { kind: "reset-after-effect" } },
  { label: "stall after the headers", fault: { kind: "stall" } },
  { label: "response 10 s late", fault: { kind: "delay", delayMs: 10_000 } },
  { label: "token expires", fault: { kind: "expire-token" } },
  { label: "rate limit used up", fault: { kind: "burn-quota" } },
] as const satisfies readonly Preset<ApiFault>[];

export const deliveryPresets = [
  { label: "sent twice", fault: { kind: "duplicate" } },
  { label: "out of order", fault: { kind: "reorder" } },
  { label: "1 min late", fault: { kind: "delay", delayMs: 60_000 } },
  { label: "lost in transit", fault: { kind: "drop" } },
  { label: "wrong signature", fault: { kind: "wrong-signature" } },
  { label: "stale timestamp", fault: { kind: "stale-timestamp" } },
  { label: "old secret only", fault: { kind: "old-secret-only" } },
  { label: "altered body", fault: { kind: "altered-body" } },
  { label: "redirect", fault: { kind: "redirect" } },
] as const satisfies readonly Preset<DeliveryFault>[];

type Fault = ApiFault | DeliveryFault;
type Rule = NonNullable<FaultPlan["api"] | FaultPlan["deliveries"]>[number];

/** Faults of a rule and how often each is injected; empty when its instructions are used up. */
export function describeRule({ instructions = [], chances = [] }: Rule): string {
  const runs: { what: string; count: number }[] = [];
  for (const what of instructions.map(describeFault)) {
    const last = runs.at(-1);
    if (last?.what === what) last.count++;
    else runs.push({ what, count: 1 });
  }
  const next = runs.map(({ what, count }) => `${what}, the next ${times(count)}`);
  const often = chances.map(
    ({ probability, fault }) =>
      `${describeFault(fault)}, ${Number((probability * 100).toFixed(2))} % of the time`,
  );
  return [next.join(", then "), ...often].filter((text) => text !== "").join(", ");
}

const times = (count: number) => (count === 1 ? "time" : `${count} times`);

/** The calls or deliveries that a rule is limited to. */
export const describeMatch = (rule: Rule): string =>
  Object.values(rule)
    .filter((value) => typeof value === "string")
    .join(", ");

export function describeFault(fault: Fault): string {
  switch (fault.kind) {
    case "status":
      return `HTTP ${fault.status}${fault.retryAfterSeconds === undefined ? "" : `, retry after ${fault.retryAfterSeconds} s`}`;
    case "rate-limited":
      return `429 of the service, retry after ${fault.retryAfterSeconds ?? 1} s`;
    case "graphql-error":
      return `GraphQL error “${fault.message}”`;
    case "delay":
      return `${formatDuration(fault.delayMs)} late`;
    case "duplicate":
      return `sent ${1 + (fault.copies ?? 1)} times`;
    case "pass":
      return "no fault";
    default: {
      const presets = [...apiPresets, ...deliveryPresets];
      const kind: (typeof presets)[number]["fault"]["kind"] = fault.kind;
      return presets.find((preset) => preset.fault.kind === kind)?.label ?? kind;
    }
  }
}

/** Whether the journal's text of a query can be that of the query as it was sent: the journal redacts and cuts it. */
export function canBeSent(recorded: string | null, sent: string): boolean {
  const [start = ""] = recorded?.split(/"?\[redacted\]/, 1) ?? [];
  return sent.startsWith(start);
}
