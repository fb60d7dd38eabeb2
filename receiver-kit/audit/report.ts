import type { Requirement } from "./checks/check.ts";
import type { AuditOutcome, AuditReport, AuditResult } from "./result.ts";

export type AuditVerdict = "passed" | "failed" | "could-not-run";

export type AuditSummary = Readonly<Record<Requirement, Readonly<Record<AuditOutcome, number>>>>;

const textWidth = 100;

/** `failed` when a MUST failed or the receiver died of it; `could-not-run` when the audit could not judge every MUST. */
export function verdictOf(report: AuditReport): AuditVerdict {
  const musts = report.results.filter(({ requirement }) => requirement === "MUST");
  if (report.stoppedDuring || musts.some(({ outcome }) => outcome === "failed")) return "failed";
  if (report.problem || report.results.length === 0) return "could-not-run";
  return musts.some(({ outcome }) => outcome === "unfinished") ? "could-not-run" : "passed";
}

/** 0 when every MUST passed (or did not apply), 1 when one failed, 2 when the audit could not be made. */
export function exitCodeOf(report: AuditReport): 0 | 1 | 2 {
  return ({ passed: 0, failed: 1, "could-not-run": 2 } as const)[verdictOf(report)];
}

export function summaryOfReport({ results }: AuditReport): AuditSummary {
  const count = (requirement: Requirement, outcome: AuditOutcome) =>
    results.filter((result) => result.requirement === requirement && result.outcome === outcome).length;
  const outcomes = (requirement: Requirement) => ({
    passed: count(requirement, "passed"),
    failed: count(requirement, "failed"),
    skipped: count(requirement, "skipped"),
    unfinished: count(requirement, "unfinished"),
  });
  return { MUST: outcomes("MUST"), SHOULD: outcomes("SHOULD") };
}

/** One JSON document. `formatVersion` changes when a field changes its meaning or goes away. */
export function renderJsonReport(report: AuditReport): string {
  const document = {
    tool: "check-receiver",
    formatVersion: 1,
    verdict: verdictOf(report),
    summary: summaryOfReport(report),
    ...report,
  };
  return `${JSON.stringify(document, null, 2)}\n`;
}

/** The report for people: a table of all checks, then what failed and how to mend it, then the verdict. */
export function renderTextReport(report: AuditReport, options: { readonly color?: boolean } = {}): string {
  const paint = painter(options.color ?? false);
  const title = `Audit of ${report.url} (${report.scheme}, tolerance ${report.toleranceSeconds} s)`;
  const parts = report.problem
    ? [title, problemLines(report, paint)]
    : [title, table(report.results, paint), ...details(report.results, paint), footer(report, paint)];
  return `${parts.join("\n\n")}\n`;
}

type Paint = (text: string, tone: "good" | "bad" | "dim") => string;

function painter(color: boolean): Paint {
  const codes = { good: 32, bad: 31, dim: 2 } as const;
  return (text, tone) => (color ? `\u001b[${codes[tone]}m${text}\u001b[0m` : text);
}

const marks: Readonly<Record<AuditOutcome, string>> = {
  passed: "pass",
  failed: "FAIL",
  skipped: "skip",
  unfinished: "????",
};

function table(results: readonly AuditResult[], paint: Paint): string {
  const idWidth = Math.max(...results.map(({ id }) => id.length));
  const titleWidth = Math.max(...results.map(({ title }) => title.length));
  return results
    .map(({ outcome, requirement, id, title, received }) => {
      const tone = outcome === "failed" ? "bad" : outcome === "passed" ? "good" : "dim";
      const cells = [
        requirement.padEnd(6),
        id.padEnd(idWidth),
        title.padEnd(titleWidth),
        firstPart(received),
      ];
      return `${paint(marks[outcome], tone)}  ${cells.join("  ")}`.trimEnd();
    })
    .join("\n");
}

/** The table has one line for each check; the whole of a long finding stands in the details. */
function firstPart(received: string): string {
  return received.length <= 48 ? received : `${received.slice(0, 47)}…`;
}

function details(results: readonly AuditResult[], paint: Paint): readonly string[] {
  const failures = results.filter(({ outcome }) => outcome === "failed");
  const musts = failures.filter(({ requirement }) => requirement === "MUST");
  const shoulds = failures.filter(({ requirement }) => requirement === "SHOULD");
  return [...musts, ...shoulds].map((result) =>
    [
      paint(`FAIL  ${result.id} (${result.requirement}): ${result.title}`, "bad"),
      field("sent", result.sent),
      field("expected", result.expected),
      field("received", result.received),
      field("mend", result.mend),
    ].join("\n"),
  );
}

function problemLines({ problem }: AuditReport, paint: Paint): string {
  if (!problem) return "";
  const hints = problem.hints.map((hint) => field("hint", hint));
  return [paint(`The audit could not be made: ${problem.message}.`, "bad"), ...hints].join("\n");
}

function footer(report: AuditReport, paint: Paint): string {
  const summary = summaryOfReport(report);
  const lines = (["MUST", "SHOULD"] as const).map((requirement) => {
    const { passed, failed, skipped, unfinished } = summary[requirement];
    const rest = [skipped && `${skipped} skipped`, unfinished && `${unfinished} unfinished`].filter(Boolean);
    return `${requirement.padEnd(6)}  ${[`${passed} passed`, `${failed} failed`, ...rest].join(", ")}`;
  });
  const blind = report.results.filter(({ answersOnly }) => answersOnly).length;
  const observe =
    blind === 0
      ? []
      : [
          `${blind} of the passed saw the answers only: --observe-url, with "count" and "status", shows effects.`,
        ];
  const stopped = report.stoppedDuring
    ? [paint(`The receiver stopped accepting connections during ${report.stoppedDuring.join(", ")}.`, "bad")]
    : [];
  const verdicts = {
    passed: paint("Every MUST holds.", "good"),
    failed: paint(failureOf(summary.MUST.failed), "bad"),
    "could-not-run": paint("The audit could not judge every MUST.", "bad"),
  } as const;
  const seconds = (report.durationMs / 1000).toFixed(1);
  return [...lines, ...observe, ...stopped, `${verdicts[verdictOf(report)]} (${seconds} s)`].join("\n");
}

function failureOf(failedMusts: number): string {
  return failedMusts === 0 ? "The receiver did not survive." : `${failedMusts} MUST failed.`;
}

function field(name: string, text: string): string {
  const indent = " ".repeat(16);
  return `      ${name.padEnd(10)}${wrapped(text, textWidth - indent.length).join(`\n${indent}`)}`;
}

function wrapped(text: string, width: number): readonly string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    if (line !== "" && line.length + 1 + word.length > width) {
      lines.push(line);
      line = word;
    } else {
      line = line === "" ? word : `${line} ${word}`;
    }
  }
  return [...lines, line];
}
