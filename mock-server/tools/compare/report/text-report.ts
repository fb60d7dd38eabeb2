import { type Paint, painter, type Tone } from "@workspace-tasks/kernel/layout.ts";
import type { RuleResult, Verdict } from "../evaluate/evaluate-rules.ts";
import type { CreatedEndpoint } from "../run/created-endpoints.ts";
import type { Problem } from "../run/preflight.ts";
import type { Removal } from "../run/remove-created.ts";
import type { CompareReport } from "./compare-report.ts";
import { countsOf, verdictOf } from "./summary.ts";

export interface TextOptions {
  readonly color?: boolean | undefined;
}

const marks = {
  confirmed: ["confirmed        ", "good"],
  differs: ["differs          ", "warning"],
  refuted: ["REFUTED          ", "bad"],
  "not-testable": ["not testable     ", "dim"],
} as const satisfies Record<Verdict, readonly [string, Tone]>;

/** The report for a terminal: what differs, then every assumption, then the totals. */
export function renderTextReport(report: CompareReport, { color = false }: TextOptions = {}): string {
  const paint = painter(color);
  const linesOf = (verdict: Verdict) =>
    report.rules
      .filter((rule) => rule.verdict === verdict)
      .map((rule) => ruleLines(rule, report.notExpressed, paint));
  const parts = report.problem
    ? [problemLines(report.problem, paint)]
    : [
        ...linesOf("refuted"),
        ...linesOf("differs"),
        assumptionTable(report, paint),
        notTestable(report),
        footer(report, paint),
      ];
  return `${parts.filter(Boolean).join("\n\n")}\n`;
}

function problemLines({ message, expected, received, hint }: Problem, paint: Paint): string {
  const lines = [
    paint(`Could not compare: ${message}.`, "bad"),
    field("expected", expected),
    field("received", received),
  ];
  return [...lines, ...(hint === "" ? [] : [field("to do", hint)])].join("\n");
}

function ruleLines(
  { id, title, verdict, assumptions, sent, expected, received, settings }: RuleResult,
  notExpressed: readonly string[],
  paint: Paint,
): string {
  const head =
    verdict === "refuted"
      ? paint(`REFUTED  ${id}: ${title}`, "bad")
      : paint(`differs from ${assumptions.join(", ")}  ${id}: ${title}`, "warning");
  return [
    head,
    field("sent", sentText(sent)),
    field("expected", expected),
    field("received", received),
    field(
      "setting",
      notExpressed.includes(id) ? "none expresses this" : settings ? JSON.stringify(settings) : "as above",
    ),
  ].join("\n");
}

const sentMax = 4;

export function sentText(sent: readonly string[]): string {
  if (sent.length === 0) return "every request of the run";
  const more = sent.length > sentMax ? `; ${sent.length - sentMax} more` : "";
  return sent.slice(0, sentMax).join("; ") + more;
}

const field = (name: string, text: string) => `  ${name.padEnd(8)}  ${text}`;

function assumptionTable({ assumptions, rules }: CompareReport, paint: Paint): string {
  const width = Math.max(0, ...assumptions.map(({ subject }) => subject.length));
  const rows = assumptions.map(({ id, subject, verdict, partly, rules: own, note }) => {
    const [whole, tone] = marks[verdict];
    const mark = partly ? "confirmed in part" : whole;
    const counts = countsOf(rules.filter((rule) => own.includes(rule.id)));
    const share = own.length === 0 ? "" : `${counts[verdict]} of ${own.length} rules`;
    const rest = verdict === "not-testable" ? note : share;
    return `${paint(mark, tone)}  ${id.padEnd(4)}  ${subject.padEnd(width)}  ${rest}`.trimEnd();
  });
  return ["Assumptions", ...rows].join("\n");
}

/** Rules that are not testable, by what they take. */
function notTestable({ rules }: CompareReport): string {
  const byReason = new Map<string, string[]>();
  for (const { id, verdict, received } of rules) {
    if (verdict === "not-testable") byReason.set(received, [...(byReason.get(received) ?? []), id]);
  }
  if (byReason.size === 0) return "";
  const rows = [...byReason].map(([reason, ids]) => {
    const shown = ids.slice(0, 3).join(", ");
    return `  ${reason}: ${shown}${ids.length > 3 ? ` and ${ids.length - 3} more` : ""}`;
  });
  return ["Not testable in this run", ...rows].join("\n");
}

function footer(report: CompareReport, paint: Paint): string {
  const { confirmed, differs, refuted, "not-testable": rest } = countsOf(report.rules);
  const { requests, rateLimited, lost } = report.stats;
  const traffic = [
    requests > 0 && `${requests} requests`,
    rateLimited > 0 && `${rateLimited} × 429`,
    lost > 0 && `${lost} without a response`,
  ].filter(Boolean);
  const counts = `${confirmed} confirmed, ${refuted} refuted, ${differs} differing, ${rest} not testable`;
  const lines = [...report.notes, `Rules: ${counts}.`];
  if (traffic.length > 0) lines.push(`Sent: ${traffic.join(", ")}.`);
  if (report.removal) lines.push(paint(removalText(report.removal), report.removal.command ? "bad" : "dim"));
  if (report.stopped !== null) lines.push(paint(`Not finished: ${report.stopped}.`, "bad"));
  const inRules = (count: number) => `in ${count} ${count === 1 ? "rule" : "rules"}`;
  const open = `The service keeps to the interface, and differs from assumptions of the mock ${inRules(differs)}.`;
  const conclusions = {
    agrees: paint("The service does what the mock does, as far as it was tested.", "good"),
    differs: paint(open, "warning"),
    refuted: paint(`The service differs from the interface ${inRules(refuted)}.`, "bad"),
    "could-not-run": [],
  };
  return [...lines, conclusions[verdictOf(report)]].flat().join("\n");
}

/** What was removed, or what is left on the service, with URLs and ids, and the command that removes it. */
export function removalText({ removed, left, problem, command }: Removal): string {
  if (command === null) return `Removed ${endpointsText(removed)}.`;
  return [
    `NOT removed: ${endpointsText(left.length)}${problem === null ? "" : ` (${problem})`}`,
    ...left.map(endpointLine),
    `  to remove ${left.length === 1 ? "it" : "them"}: ${command}`,
  ].join("\n");
}

export const endpointsText = (count: number): string =>
  `${count} webhook ${count === 1 ? "endpoint" : "endpoints"}`;

/** An id is text of the service, and must not control a terminal. */
export const endpointLine = ({ url, id, isCertain }: CreatedEndpoint): string =>
  `  ${url}  ${id?.replace(/[^\w.:=-]/g, "…") ?? "id not known"}${isCertain ? "" : ", perhaps: a response was lost"}`;
