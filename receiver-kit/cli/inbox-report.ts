import { isNestedDeeper, jsonOrUndefined } from "@workspace-tasks/kernel/json.ts";
import {
  durationText,
  type Paint,
  renderTable,
  type Tone,
  wrapBehind,
} from "@workspace-tasks/kernel/layout.ts";
import { visible, visibleLines } from "@workspace-tasks/kernel/visible.ts";
import { decodeUtf8 } from "../event/parse-delivery.ts";
import { countedMax, type InboxRowDetails, type InboxRowSummary, type InboxStats } from "../inbox/inbox.ts";
import { timeOf } from "../inbox/search.ts";
import { taskOf } from "../maintenance/row-filter.ts";

export interface ReportLayout {
  /** Columns that no line exceeds. */
  readonly width: number;
  readonly paint: Paint;
  /** The time up to which ages are counted. */
  readonly nowMs: number;
}

const tones: Readonly<Record<string, Tone>> = { dead: "bad", quarantined: "warning", done: "good" };

function painted(state: string, paint: Paint): string {
  const tone = tones[state];
  return tone === undefined ? state : paint(state, tone);
}

/** A table with one line per row. In a narrow terminal ids lose their beginnings first, then whole columns are left out. */
export function renderRows(rows: readonly InboxRowSummary[], { width, paint, nowMs }: ReportLayout): string {
  if (rows.length === 0) return "no rows\n";
  const columns = [
    { title: "STATE", paint: (state: string) => painted(state, paint) },
    { title: "TASK", keepsEnd: 12 },
    { title: "TIME" },
    { title: "ATTEMPTS" },
    { title: "WEBHOOK-ID", keepsEnd: 12, optional: true },
    { title: "EVENT", optional: true },
    { title: "SEQ", optional: true },
    { title: "LAST ERROR", flexible: 20 },
  ];
  const lines = rows.map((row) => [
    row.state,
    taskOf(row.orderKey) ?? "-",
    `${durationText(nowMs - timeOf(row))} ago`,
    String(row.attempts),
    row.id,
    row.event ?? "-",
    String(row.seq),
    row.lastError ?? "",
  ]);
  const cells = lines.map((line) => line.map((cell) => visible(cell.replaceAll("\n", " "))));
  return renderTable(columns, cells, width);
}

/** What rows are, however many: their number, states, events and times, and the newest of them. */
export function createSummary() {
  const states = new Map<string, number>();
  const events = new Map<string, number>();
  const newest: InboxRowSummary[] = [];
  let count = 0;
  let newestSeq = 0;
  let firstMs = Number.POSITIVE_INFINITY;
  let lastMs = Number.NEGATIVE_INFINITY;
  const countIn = (counts: Map<string, number>, name: string) => {
    const known = counts.has(name) || counts.size < namesMax ? name : "other events";
    counts.set(known, (counts.get(known) ?? 0) + 1);
  };
  return {
    newest,
    get count() {
      return count;
    },
    get newestSeq() {
      return newestSeq;
    },
    add(rows: readonly InboxRowSummary[]) {
      for (const row of rows) {
        count += 1;
        newestSeq = Math.max(newestSeq, row.seq);
        countIn(states, row.state);
        countIn(events, row.event ?? "no event");
        const timeMs = timeOf(row);
        firstMs = Math.min(firstMs, timeMs);
        lastMs = Math.max(lastMs, timeMs);
        if (newest.length < newestMax) newest.push(row);
      }
    },
    text(nowMs: number): string {
      const of = (counts: Map<string, number>) =>
        [...counts].map(([name, number]) => `${number} ${visible(name)}`).join(", ");
      const age = (timeMs: number) => `${durationText(nowMs - timeMs)} ago`;
      return `${count} row${count === 1 ? "" : "s"}: ${of(states)}; ${of(events)}; from ${age(firstMs)} to ${age(lastMs)}`;
    },
  };
}

const newestMax = 50;
const namesMax = 10;

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
    ...(row.diedAtMs === null
      ? []
      : [["died", `${isoTime(row.diedAtMs)} (${durationText(nowMs - row.diedAtMs)} ago)`] as const]),
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
