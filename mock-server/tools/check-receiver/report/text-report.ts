import {
  type Paint,
  painter,
  renderTable,
  type Tone,
  wrapBehind,
  wrapLines,
} from "@workspace-tasks/kernel/layout.ts";
import type { AuditProblem, AuditReport, AuditResult } from "../result.ts";
import { notObserved, summaryOfReport, verdictOf } from "./verdict.ts";

export interface TextReportOptions {
  readonly color?: boolean | undefined;
  /** Columns of the terminal, which no line exceeds; without it the table has no limit. Sentences wrap at 80 at most. */
  readonly width?: number | undefined;
  /** Also a table of all checks. */
  readonly verbose?: boolean | undefined;
}

interface Layout {
  readonly paint: Paint;
  readonly width: number;
  readonly verbose: boolean;
}

/** The report as text: the root cause, the failures with their fixes, the other checks in brief, then the verdict. */
export function renderTextReport(report: AuditReport, options: TextReportOptions = {}): string {
  const { color = false, width: columns = Number.POSITIVE_INFINITY, verbose = false } = options;
  const layout: Layout = { paint: painter(color), width: Math.min(columns, 80), verbose };
  const { paint, width } = layout;
  const { problem, results, cause } = report;
  const title = wrapLines(`check-receiver: ${report.url} (tolerance ${report.toleranceSeconds} s)`, width);
  const parts =
    problem && results.length === 0
      ? [title, problemLines(problem, layout)]
      : [
          title,
          cause && paint(wrapLines(causeSentence(cause.message, results), width, 0), "bad"),
          ...failureBlocks(report, layout),
          verbose && tableOf(results, paint, columns),
          othersInBrief(results, width),
          wrapLines(footer(report, paint), width),
        ];
  return `${parts.filter(Boolean).join("\n\n")}\n`;
}

const marks = { passed: "pass", failed: "FAIL", skipped: "skip", inconclusive: "pass?", unfinished: "????" };
const tones: Readonly<Record<string, Tone>> = { pass: "good", FAIL: "bad" };

function causeSentence(message: string, results: readonly AuditResult[]): string {
  const { MUST, SHOULD } = summaryOfReport({ results });
  const follow = results.filter(({ follows }) => follows).length;
  const unproven = MUST.inconclusive + SHOULD.inconclusive;
  const findings = `${follow} ${follow === 1 ? "finding follows" : "findings follow"} from it`;
  const passes =
    unproven > 0
      ? `, and ${unproven} ${unproven === 1 ? "check" : "checks"} passed only because nothing is verified`
      : "";
  return `${message.charAt(0).toUpperCase()}${message.slice(1)}; ${findings}${passes}.`;
}

/** The root cause first, then MUST before SHOULD. Beside a root cause the others are one line each: they can wait. */
function failureBlocks({ results, cause }: AuditReport, layout: Layout): readonly string[] {
  const rank = ({ id, requirement }: AuditResult) =>
    id === cause?.check ? 0 : requirement === "MUST" ? 1 : 2;
  const failures = results.filter(({ outcome }) => outcome === "failed").sort((a, b) => rank(a) - rank(b));
  const inFull = failures.slice(0, cause && !layout.verbose ? 1 : failures.length);
  const blocks = withEachRemedyOnce(inFull).map((failure) => {
    const { sent, expected, received, fix } = failure;
    const fields = Object.entries({ sent, expected, received, fix });
    return [headOf(failure, layout), ...fields.map(([name, text]) => field(name, text, layout))].join("\n");
  });
  const inBrief = failures.slice(inFull.length).map((failure) => headOf(failure, layout));
  if (inBrief.length === 0) return blocks;
  return [...blocks, [...inBrief, "      --verbose shows what was sent, and the fixes."].join("\n")];
}

/** A sentence of a remedy stays with the first check that has it. */
function withEachRemedyOnce(failures: readonly AuditResult[]): readonly AuditResult[] {
  const firstWith = new Map<string, string>();
  return failures.map((failure) => {
    const sentences = failure.fix.split(/(?<=[.!?)]) (?=[A-Z])/);
    const earlier = sentences.map((sentence) => firstWith.get(sentence)).find(Boolean);
    const own = sentences.filter((sentence) => !firstWith.has(sentence));
    for (const sentence of own) firstWith.set(sentence, failure.id);
    const fix = [...(earlier === undefined ? [] : [`As for ${earlier}.`]), ...own].join(" ");
    return { ...failure, fix };
  });
}

const headOf = ({ id, requirement, title }: AuditResult, { paint, width }: Layout) =>
  paint(wrapLines(`FAIL  ${id} (${requirement}): ${title}`, width, 6), "bad");

const field = (name: string, text: string, { width }: Layout) =>
  wrapBehind(`      ${name.padEnd(10)}`, text, width);

function tableOf(results: readonly AuditResult[], paint: Paint, width: number): string {
  const columns = [
    { paint: (mark: string) => paint(mark, tones[mark] ?? "dim") },
    {},
    {},
    { flexible: true, optional: true },
    { flexible: true, optional: true },
  ];
  const rows = results.map(({ outcome, requirement, id, title, received }) => {
    return [marks[outcome], requirement, id, title, received];
  });
  return renderTable(columns, rows, width).trimEnd();
}

/** What did not fail, by outcome and reason: the number of checks of each subject. */
function othersInBrief(results: readonly AuditResult[], width: number): string {
  const groups = new Map<string, string[]>();
  for (const { outcome, id, received } of results) {
    if (outcome === "failed") continue;
    const reason = outcome === "skipped" || outcome === "unfinished" ? ` (${received})` : "";
    const key = `${outcome}${reason}`;
    groups.set(key, [...(groups.get(key) ?? []), id.replace(/\..*/, "")]);
  }
  return [...groups].map(([key, subjects]) => wrapLines(`${key}: ${countsOf(subjects)}`, width)).join("\n");
}

function countsOf(subjects: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const subject of subjects) counts.set(subject, (counts.get(subject) ?? 0) + 1);
  return [...counts].map(([subject, count]) => `${subject} ${count}`).join(", ");
}

function problemLines({ message, hints }: AuditProblem, layout: Layout): string {
  const what = layout.paint(wrapLines(`Could not run: ${message}.`, layout.width, 0), "bad");
  return [what, ...hints.map((hint) => field("hint", hint, layout))].join("\n");
}

function footer(report: AuditReport, paint: Paint): string {
  const summary = summaryOfReport(report);
  const lines = (["MUST", "SHOULD"] as const).map((requirement) => {
    const { passed, failed, ...others } = summary[requirement];
    const rest = Object.entries(others).flatMap(([outcome, count]) =>
      count > 0 ? `${count} ${outcome}` : [],
    );
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
