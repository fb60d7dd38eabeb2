// The report of a comparison: as text, as JSON and for CI.

import { groupBy } from "@workspace-tasks/kernel/group-by.ts";
import { type Paint, painter, type Tone } from "@workspace-tasks/kernel/layout.ts";
import type { SettingsChanges } from "@workspace-tasks/mock-server";
import { type JunitCase, renderJunit } from "../junit.ts";
import { type Removal, removalText } from "./ask/created.ts";
import type { Stats } from "./ask/send.ts";
import type { AssumptionResult, RuleResult, Verdict } from "./evaluate.ts";
import type { Problem } from "./preflight.ts";

export interface CompareReport {
  /** Why nothing could be compared. */
  readonly problem: Problem | null;
  readonly rules: readonly RuleResult[];
  readonly assumptions: readonly AssumptionResult[];
  /** Settings with which the mock does what the service did, as far as settings can express it. */
  readonly settings: SettingsChanges;
  /** Rules that a mock with these settings still refutes. */
  readonly notExpressed: readonly string[];
  /** What was done about the objects of the run; `null` for a run that creates none. */
  readonly removal: Removal | null;
  readonly stats: Readonly<Stats>;
  /** Why the run ended before its last rule; `null` when it did not. */
  readonly stopped: string | null;
}

export const emptyReport: CompareReport = {
  problem: null,
  rules: [],
  assumptions: [],
  settings: {},
  notExpressed: [],
  removal: null,
  stats: { requests: 0, rateLimited: 0, lost: 0 },
  stopped: null,
};

/**
 * `differs`: in what the interface leaves open. `could-not-run` also when the run ended early without a refuted rule: nothing
 * is known of the rest.
 */
export type CompareVerdict = "agrees" | "differs" | "refuted" | "could-not-run";

function countsOf(results: readonly { readonly verdict: Verdict }[]): Readonly<Record<Verdict, number>> {
  const counts = { confirmed: 0, differs: 0, refuted: 0, "not-testable": 0 };
  for (const { verdict } of results) counts[verdict] += 1;
  return counts;
}

export function verdictOf({ problem, rules, stopped }: CompareReport): CompareVerdict {
  const { confirmed, differs, refuted } = countsOf(rules);
  if (problem) return "could-not-run";
  if (refuted > 0) return "refuted";
  if (stopped !== null || confirmed + differs === 0) return "could-not-run";
  return differs > 0 ? "differs" : "agrees";
}

/** 0 when no rule is refuted, 1 when one is, 2 when it could not run, was not finished, or has left endpoints on the service. */
export const exitCodeOf = (report: CompareReport): 0 | 1 | 2 =>
  isLeft(report)
    ? 2
    : ({ agrees: 0, differs: 0, refuted: 1, "could-not-run": 2 } as const)[verdictOf(report)];

const isLeft = ({ removal }: CompareReport) => (removal?.left.length ?? 0) > 0;

/** One JSON document. `formatVersion` changes when a field is removed or changes its meaning. */
export function renderJsonReport(report: CompareReport): string {
  const document = {
    tool: "workspace-tasks compare",
    formatVersion: 1,
    verdict: verdictOf(report),
    summary: { rules: countsOf(report.rules), assumptions: countsOf(report.assumptions) },
    ...report,
  };
  return `${JSON.stringify(document, null, 2)}\n`;
}

/** For CI: a test case for each rule. One that is refuted fails; one that differs or is not testable is skipped. */
export function renderJunitReport(report: CompareReport): string {
  const { problem, rules, stopped, removal } = report;
  const error = problem?.message ?? stopped;
  const details = problem?.received ?? "";
  return renderJunit("workspace-tasks compare", [
    ...rules.map(caseOf),
    ...(error === null ? [] : [{ id: "run", name: "the comparison runs to its end", error, details }]),
    ...(removal && isLeft(report)
      ? [{ id: "run", name: "nothing is left on the service", error: removalText(removal) }]
      : []),
  ]);
}

function caseOf({ id, title, verdict, assumptions, sent, expected, received }: RuleResult): JunitCase {
  const test = { id, name: [title, ...assumptions].join(" ") };
  if (verdict === "confirmed") return test;
  if (verdict === "not-testable") return { ...test, skipped: received };
  const message = `expected ${expected}, received ${received}`;
  if (verdict === "differs")
    return { ...test, skipped: `differs from ${assumptions.join(", ")}: ${message}` };
  return { ...test, failure: message, details: `sent: ${sentText(sent)}` };
}

const marks = {
  confirmed: ["confirmed        ", "good"],
  differs: ["differs          ", "warning"],
  refuted: ["REFUTED          ", "bad"],
  "not-testable": ["not testable     ", "dim"],
} as const satisfies Record<Verdict, readonly [string, Tone]>;

/** The report for a terminal: what differs, then every assumption, then the totals. */
export function renderTextReport(report: CompareReport, color = false): string {
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

const field = (name: string, text: string) => `  ${name.padEnd(8)}  ${text}`;

function problemLines({ message, received, hint }: Problem, paint: Paint): string {
  const lines = [paint(`Could not compare: ${message}.`, "bad"), field("received", received)];
  return [...lines, ...(hint === "" ? [] : [field("to do", hint)])].join("\n");
}

function ruleLines(rule: RuleResult, notExpressed: readonly string[], paint: Paint): string {
  const { id, title, verdict, assumptions, sent, expected, received, settings } = rule;
  const head =
    verdict === "refuted"
      ? paint(`REFUTED  ${id}: ${title}`, "bad")
      : paint(`differs from ${assumptions.join(", ")}  ${id}: ${title}`, "warning");
  const isExpressed = !notExpressed.includes(id);
  const setting = !isExpressed ? "none expresses this" : settings ? JSON.stringify(settings) : "as above";
  return [
    head,
    field("sent", sentText(sent)),
    field("expected", expected),
    field("received", received),
    field("setting", setting),
  ].join("\n");
}

const sentMax = 4;

function sentText(sent: readonly string[]): string {
  if (sent.length === 0) return "nothing of its own";
  const more = sent.length > sentMax ? `; ${sent.length - sentMax} more` : "";
  return sent.slice(0, sentMax).join("; ") + more;
}

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
  const notTested = rules.filter(({ verdict }) => verdict === "not-testable");
  if (notTested.length === 0) return "";
  const rows = [...groupBy(notTested, ({ received }) => received)].map(([reason, group]) => {
    const ids = group.map(({ id }) => id);
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
  const lines = [`Rules: ${counts}.`];
  if (traffic.length > 0) lines.push(`Sent: ${traffic.join(", ")}.`);
  if (report.removal) lines.push(paint(removalText(report.removal), isLeft(report) ? "bad" : "dim"));
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
