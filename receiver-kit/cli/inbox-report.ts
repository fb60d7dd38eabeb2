import { isNestedDeeper, jsonOrUndefined } from "@workspace-tasks/kernel/json.ts";
import { durationText } from "@workspace-tasks/kernel/layout/duration-text.ts";
import { renderTable } from "@workspace-tasks/kernel/layout/table.ts";
import type { Paint, Tone } from "@workspace-tasks/kernel/layout/terminal.ts";
import { wrapBehind } from "@workspace-tasks/kernel/layout/text.ts";
import { visible, visibleLines } from "@workspace-tasks/kernel/visible.ts";
import { decodeUtf8 } from "../event/parse-delivery.ts";
import { countedMax, type InboxRowDetails, type InboxRowSummary, type InboxStats } from "../inbox/inbox.ts";

export interface ReportLayout {
  /** Columns that no line exceeds. */
  readonly width: number;
  readonly paint: Paint;
  /** To which ages refer. */
  readonly nowMs: number;
}

const tones: Readonly<Record<string, Tone>> = { dead: "bad", quarantined: "warning", done: "good" };

function painted(state: string, paint: Paint): string {
  const tone = tones[state];
  return tone === undefined ? state : paint(state, tone);
}

/** A table with one line per row. */
export function renderRows(rows: readonly InboxRowSummary[], { width, paint, nowMs }: ReportLayout): string {
  if (rows.length === 0) return "no rows\n";
  const columns = [
    { title: "SEQ", optional: true },
    { title: "STATE", paint: (state: string) => painted(state, paint) },
    { title: "EVENT", optional: true },
    { title: "WEBHOOK-ID" },
    { title: "RECEIVED", optional: true },
    { title: "ATTEMPTS", optional: true },
    { title: "LAST ERROR", flexible: true },
  ];
  const lines = rows.map((row) => [
    String(row.seq),
    row.state,
    row.event ?? "-",
    row.id,
    `${durationText(nowMs - row.receivedAtMs)} ago`,
    String(row.attempts),
    row.lastError ?? "",
  ]);
  const cells = lines.map((line) => line.map((cell) => visible(cell.replaceAll("\n", " "))));
  return renderTable(columns, cells, width);
}

/** Everything about one row, its body last: with indentation when it is compact JSON. */
export function renderRow(row: InboxRowDetails, { width, paint, nowMs }: ReportLayout): string {
  const fields: readonly (readonly [string, string])[] = [
    ["webhook-id", row.id],
    ["source", row.source],
    ["state", painted(row.state, paint)],
    ["event", row.event ?? "-"],
    ["channel", row.channel],
    ["order key", row.orderKey ?? "-"],
    ["signed", isoTime(row.timestamp * 1000)],
    ["received", `${isoTime(row.receivedAtMs)} (${durationText(nowMs - row.receivedAtMs)} ago)`],
    ["due", isoTime(row.dueAtMs)],
    ["attempts", String(row.attempts)],
    ["replays", String(row.replays)],
    ["last error", row.lastError ?? "-"],
    ["body", row.body ? `${row.body.byteLength} bytes` : "removed"],
  ];
  const lines = fields.map(([name, value]) =>
    wrapBehind(name.padEnd(12), name === "state" ? value : visibleLines(value), width),
  );
  return `${lines.join("\n")}\n${row.body ? `\n${bodyText(row.body)}\n` : ""}`;
}

function bodyText(bytes: Uint8Array): string {
  const body = decodeUtf8(bytes) ?? "(not UTF-8)";
  const shown = visibleLines(indented(body.slice(0, shownMax)));
  const cut = body.length > shownMax ? `\n… ${body.length - shownMax} characters more: --json shows all` : "";
  return `${shown}${cut}`;
}

const shownMax = 100_000;
/** Each level of a value indents all of its lines further. */
const indentedDepthMax = 10;

/** Only what JSON writes again alike: otherwise the text would not be what was received. */
function indented(text: string): string {
  if (isNestedDeeper(text, indentedDepthMax)) return text;
  const value = jsonOrUndefined(text);
  return JSON.stringify(value) === text ? JSON.stringify(value, null, 2) : text;
}

export function renderStats({ rows, oldestPendingMs, storedAheadMs }: InboxStats, paint: Paint): string {
  const lines = Object.entries(rows).map(([state, count]) => {
    const more = count === countedMax ? " or more" : "";
    return `${count > 0 ? painted(state, paint) : state}${" ".repeat(12 - state.length)}${count}${more}`;
  });
  const wait = oldestPendingMs === null ? "none" : durationText(oldestPendingMs);
  const ahead = storedAheadMs > 0 ? `clock set back by ${durationText(storedAheadMs)} or more\n` : "";
  return `${lines.join("\n")}\nlongest wait ${wait}\n${ahead}`;
}

/** A row as a JSON value; its body as text where it is UTF-8, in base64 in any case. */
export function rowToJson({ body, ...row }: InboxRowDetails): object {
  if (!body) return { ...row, body: null };
  return { ...row, body: { text: decodeUtf8(body) ?? null, base64: Buffer.from(body).toString("base64") } };
}

function isoTime(ms: number): string {
  const date = new Date(ms);
  return Number.isNaN(date.getTime()) ? String(ms) : date.toISOString();
}
