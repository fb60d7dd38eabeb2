import type { AuditOutcome, AuditRequirement } from "./checks/check.ts";
import type { AuditProblem, AuditReport, AuditResult } from "./result.ts";

export type AuditVerdict = "passed" | "failed" | "could-not-run";

export type AuditSummary = Readonly<Record<AuditRequirement, Readonly<Record<AuditOutcome, number>>>>;

const textWidth = 100;
const receivedWidth = 48;

/** `failed` when a MUST failed or the receiver stopped; `could-not-run` when a MUST has no result. */
export function verdictOf(report: AuditReport): AuditVerdict {
  const musts = report.results.filter(({ requirement }) => requirement === "MUST");
  if (report.stoppedDuring || musts.some(({ outcome }) => outcome === "failed")) return "failed";
  if (report.problem || report.results.length === 0) return "could-not-run";
  return musts.some(({ outcome }) => outcome === "unfinished") ? "could-not-run" : "passed";
}

/** 0 when every MUST passed or was skipped, 1 when one failed, 2 when check-receiver could not run. */
export function exitCodeOf(report: AuditReport): 0 | 1 | 2 {
  return ({ passed: 0, failed: 1, "could-not-run": 2 } as const)[verdictOf(report)];
}

export function summaryOfReport({ results }: AuditReport): AuditSummary {
  const outcomes = (requirement: AuditRequirement) => {
    const counts = { passed: 0, failed: 0, skipped: 0, unfinished: 0 };
    for (const result of results) if (result.requirement === requirement) counts[result.outcome] += 1;
    return counts;
  };
  return { MUST: outcomes("MUST"), SHOULD: outcomes("SHOULD") };
}

/** The checks that were judged by responses only. */
const notObserved = ({ results }: AuditReport) =>
  results.filter(({ responsesOnly }) => responsesOnly).map(({ id }) => id);

/** One JSON document. `formatVersion` changes when a field is removed or changes its meaning. */
export function renderJsonReport(report: AuditReport): string {
  const document = {
    tool: "check-receiver",
    formatVersion: 1,
    verdict: verdictOf(report),
    summary: summaryOfReport(report),
    notObserved: notObserved(report),
    ...report,
  };
  return `${JSON.stringify(document, null, 2)}\n`;
}

/** The report as text: a table of all checks, then the failures with their fixes, then the verdict. */
export function renderTextReport(report: AuditReport, options: { readonly color?: boolean } = {}): string {
  const paint: Paint = (text, tone) => (options.color ? `\u001b[${colors[tone]}m${text}\u001b[0m` : text);
  const title = `check-receiver: ${report.url} (tolerance ${report.toleranceSeconds} s)`;
  const { problem, results } = report;
  const parts =
    problem && results.length === 0
      ? [title, problemLines(problem, paint)]
      : [title, table(report.results, paint), ...details(report.results, paint), footer(report, paint)];
  return `${parts.join("\n\n")}\n`;
}

type Paint = (text: string, tone: keyof typeof colors) => string;

const colors = { good: 32, bad: 31, dim: 2 } as const;

const marks = {
  passed: ["pass", "good"],
  failed: ["FAIL", "bad"],
  skipped: ["skip", "dim"],
  unfinished: ["????", "dim"],
} as const;

function table(results: readonly AuditResult[], paint: Paint): string {
  const idWidth = Math.max(...results.map(({ id }) => id.length));
  const titleWidth = Math.max(...results.map(({ title }) => title.length));
  return results
    .map(({ outcome, requirement, id, title, received }) => {
      const isLong = received.length > receivedWidth;
      const shown = isLong ? `${received.slice(0, receivedWidth - 1)}…` : received;
      const cells = [requirement.padEnd(6), id.padEnd(idWidth), title.padEnd(titleWidth), shown];
      const [mark, tone] = marks[outcome];
      return `${paint(mark, tone)}  ${cells.join("  ")}`.trimEnd();
    })
    .join("\n");
}

function details(results: readonly AuditResult[], paint: Paint): readonly string[] {
  const failures = results.filter(({ outcome }) => outcome === "failed");
  const ordered = failures.toSorted((a, b) => a.requirement.localeCompare(b.requirement));
  return ordered.map(({ id, requirement, title, sent, expected, received, fix }) =>
    [
      paint(`FAIL  ${id} (${requirement}): ${title}`, "bad"),
      ...Object.entries({ sent, expected, received, fix }).map(([name, text]) => field(name, text)),
    ].join("\n"),
  );
}

function problemLines({ message, hints }: AuditProblem, paint: Paint): string {
  return [paint(`Could not run: ${message}.`, "bad"), ...hints.map((hint) => field("hint", hint))].join("\n");
}

function footer(report: AuditReport, paint: Paint): string {
  const summary = summaryOfReport(report);
  const lines = (["MUST", "SHOULD"] as const).map((requirement) => {
    const { passed, failed, skipped, unfinished } = summary[requirement];
    const rest = [skipped && `${skipped} skipped`, unfinished && `${unfinished} unfinished`].filter(Boolean);
    return `${requirement.padEnd(6)}  ${[`${passed} passed`, `${failed} failed`, ...rest].join(", ")}`;
  });
  if (report.problem) lines.push("No other check ran: each needs a valid delivery to be acknowledged.");
  const unobserved = notObserved(report);
  if (unobserved.length > 0) {
    const subjects = [...new Set(unobserved.map((id) => id.replace(/\..*/, "")))].join(", ");
    const checks = unobserved.length === 1 ? "1 check" : `${unobserved.length} checks`;
    lines.push(
      `Effects not seen, judged by responses only: ${subjects} (${checks}).`,
      '--observe-url, with "count" and "status", shows effects.',
    );
  }
  if (report.stoppedDuring) {
    const checks = report.stoppedDuring.join(", ");
    lines.push(paint(`The receiver stopped accepting connections during ${checks}.`, "bad"));
  }
  const { failed } = summary.MUST;
  const verdicts = {
    passed: paint(`Every MUST passed${unobserved.length > 0 ? "; effects not seen" : ""}.`, "good"),
    failed: paint(failed === 0 ? "The receiver stopped." : `${failed} MUST failed.`, "bad"),
    "could-not-run": paint("Could not run every MUST.", "bad"),
  } as const;
  return [...lines, `${verdicts[verdictOf(report)]} (${(report.durationMs / 1000).toFixed(1)} s)`].join("\n");
}

/** A name and a text that wraps at the width of the report. */
function field(name: string, text: string): string {
  const indent = " ".repeat(16);
  const lines = text.match(new RegExp(`\\S.{0,${textWidth - indent.length - 1}}(?= |$)|\\S+`, "g")) ?? [];
  return `      ${name.padEnd(10)}${lines.join(`\n${indent}`)}`;
}
