import type { DeliveryDetail } from "@workspace-tasks/mock-server/control";
import { formatDuration, formatExact } from "@workspace-tasks/page-parts/text.ts";
import { formatBody } from "./http-text.ts";

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

/** With more backticks than the text has in a row. */
function fenced(text: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = "`".repeat(longest + 1);
  return `${fence}\n${formatBody(text)}\n${fence}`;
}
