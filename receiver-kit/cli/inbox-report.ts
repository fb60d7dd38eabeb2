import { decodeUtf8 } from "../event/parse-delivery.ts";
import type { InboxRowDetails, InboxRowSummary, InboxStats } from "../inbox/inbox.ts";

/** A table with one line per row. */
export function renderRows(rows: readonly InboxRowSummary[]): string {
  if (rows.length === 0) return "no rows\n";
  const lines = rows.map((row) => [
    String(row.seq),
    row.state,
    row.event ?? "-",
    row.id,
    isoTime(row.receivedAtMs),
    String(row.attempts),
    row.lastError ?? "",
  ]);
  return renderTable(["SEQ", "STATE", "EVENT", "WEBHOOK-ID", "RECEIVED", "ATTEMPTS", "LAST ERROR"], lines);
}

/** Everything about one row, its body last. */
export function renderRow(row: InboxRowDetails): string {
  const fields: readonly (readonly [string, string])[] = [
    ["webhook-id", row.id],
    ["source", row.source],
    ["state", row.state],
    ["event", row.event ?? "-"],
    ["channel", row.channel],
    ["order key", row.orderKey ?? "-"],
    ["signed", isoTime(row.timestamp * 1000)],
    ["received", isoTime(row.receivedAtMs)],
    ["due", isoTime(row.dueAtMs)],
    ["attempts", String(row.attempts)],
    ["replays", String(row.replays)],
    ["last error", row.lastError ?? "-"],
    ["body", row.body ? `${row.body.byteLength} bytes` : "removed"],
  ];
  const lines = fields.map(([name, value]) => `${name.padEnd(12)}${visible(value)}`);
  const body = row.body ? `\n${visible(decodeUtf8(row.body) ?? "(not UTF-8)")}\n` : "";
  return `${lines.join("\n")}\n${body}`;
}

export function renderStats({ rows, oldestPendingMs, storedAheadMs }: InboxStats): string {
  const lines = Object.entries(rows).map(([state, count]) => `${state.padEnd(12)}${count}`);
  const wait = oldestPendingMs === null ? "none" : `${Math.round(oldestPendingMs / 1000)} s`;
  const ahead = storedAheadMs > 0 ? `clock set back by ${Math.round(storedAheadMs / 1000)} s or more\n` : "";
  return `${lines.join("\n")}\nlongest wait ${wait}\n${ahead}`;
}

/** A row as a JSON value; its body as text where it is UTF-8, in base64 in any case. */
export function rowToJson({ body, ...row }: InboxRowDetails): object {
  if (!body) return { ...row, body: null };
  return { ...row, body: { text: decodeUtf8(body) ?? null, base64: Buffer.from(body).toString("base64") } };
}

/** A stored body may contain escape sequences, which a terminal would execute. */
function visible(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these characters control terminals
  return text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, (character) => {
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
  });
}

function renderTable(head: readonly string[], lines: readonly (readonly string[])[]): string {
  const widths = head.map((title, column) =>
    Math.max(title.length, ...lines.map((line) => (line[column] ?? "").length)),
  );
  const render = (line: readonly string[]) =>
    visible(line.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("  ")).trimEnd();
  return `${[head, ...lines].map(render).join("\n")}\n`;
}

function isoTime(ms: number): string {
  const date = new Date(ms);
  return Number.isNaN(date.getTime()) ? String(ms) : date.toISOString();
}
