import type { Verdict } from "../evaluate/evaluate-rules.ts";
import type { CompareReport } from "./compare-report.ts";
import { countsOf, refutedRules } from "./summary.ts";
import { sentText } from "./text-report.ts";

const words: Readonly<Record<Verdict, string>> = {
  confirmed: "confirmed",
  refuted: "**refuted**",
  "not-testable": "not testable",
};

/** The report for an issue or a pull request. */
export function renderMarkdownReport(report: CompareReport): string {
  const { problem } = report;
  if (problem) {
    const rows = Object.entries({
      expected: problem.expected,
      received: problem.received,
      "to do": problem.hint,
    });
    return `# Comparison of the service with the mock\n\nCould not compare: ${cell(problem.message)}.\n\n${rows.map(([name, text]) => `- ${name}: ${cell(text)}\n`).join("")}`;
  }
  const { confirmed, refuted, "not-testable": rest } = countsOf(report.rules);
  const parts = [
    "# Comparison of the service with the mock",
    `${confirmed} rules confirmed, ${refuted} refuted, ${rest} not testable; ${report.stats.requests} requests.`,
    ...(report.stopped === null ? [] : [`Not finished: ${cell(report.stopped)}.`]),
    ...report.notes.map(cell),
    ...(report.removal && report.removal.left.length > 0
      ? [`Not removed: ${report.removal.left.map(cell).join(", ")}.`]
      : []),
    ...(report.removal?.problem
      ? [`Not known whether webhook endpoints are left: ${cell(report.removal.problem)}.`]
      : []),
    ...differences(report),
    "## Assumptions",
    table(
      ["", "subject", "result", "note"],
      report.assumptions.map(({ id, subject, verdict, partly, note }) => [
        id,
        subject,
        partly ? "confirmed in part" : words[verdict],
        plain(note),
      ]),
    ),
    "## Rules",
    table(
      ["rule", "what the mock does", "result", "received"],
      report.rules.map(({ id, title, verdict, received }) => [
        `\`${id}\``,
        title,
        words[verdict],
        plain(received),
      ]),
    ),
  ];
  return `${parts.join("\n\n")}\n`;
}

function differences(report: CompareReport): readonly string[] {
  const refuted = refutedRules(report);
  if (refuted.length === 0) return [];
  const rows = refuted.map(({ id, assumptions, sent, expected, received }) => [
    `\`${id}\`${assumptions.length === 0 ? "" : ` (${assumptions.join(", ")})`}`,
    sentText(sent),
    plain(expected),
    plain(received),
    report.notExpressed.includes(id) ? "none" : "yes",
  ]);
  const { settings, notExpressed } = report;
  return [
    "## Differences",
    table(["rule", "sent", "expected", "received", "setting"], rows),
    ...(Object.keys(settings).length === 0
      ? []
      : [
          "Settings with which the mock does the same:",
          `\`\`\`json\n${JSON.stringify(settings, null, 2).replaceAll("`", "\\u0060")}\n\`\`\``,
        ]),
    ...(notExpressed.length === 0
      ? []
      : [`No setting expresses: ${notExpressed.map((id) => `\`${id}\``).join(", ")}.`]),
  ];
}

function table(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map(cell).join(" | ")} |`;
  return [line(header), `|${header.map(() => "---|").join("")}`, ...rows.map(line)].join("\n");
}

/** Text of a service, which must not be read as Markdown. */
const plain = (text: string) => text.replace(/[\\`*[\]]/g, (sign) => `\\${sign}`);

const cell = (text: string) =>
  text
    .replace(/\|/g, "\\|")
    .replace(/[<>]/g, (sign) => (sign === "<" ? "&lt;" : "&gt;"))
    .replace(/\s+/g, " ");
