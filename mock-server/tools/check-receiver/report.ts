import { groupBy } from "@workspace-tasks/kernel/group-by.ts";
import {
  type Paint,
  painter,
  renderTable,
  type Tone,
  wrapBehind,
  wrapLines,
} from "@workspace-tasks/kernel/layout.ts";
import { type JunitCase, renderJunit } from "../junit.ts";
import type { AuditCheck, AuditOutcome, AuditRequirement, Finding } from "./checks/probe-check.ts";

/** A check with its result. */
export interface AuditResult
  extends Omit<AuditCheck, "stage" | "run" | "unverified">,
    Omit<Finding, "unreachable" | "acknowledged"> {
  readonly durationMs: number;
}

/** One finding from which others follow. */
export interface AuditCause {
  /** The id of the failed check, which has the fix. */
  readonly check: string;
  readonly message: string;
}

export interface AuditProblem {
  /**
   * `UNREACHABLE`: no connection, because nothing listens, the name is unknown, or the certificate is not trusted. Like the
   * next three: exit code 2.
   */
  readonly code:
    | "UNREACHABLE"
    /** The server does not speak HTTP. */
    | "NOT_HTTP"
    /** `--observe-url` does not return the expected JSON, or counts no effect of an acknowledged delivery. */
    | "OBSERVE_URL"
    /** Stopped, or out of time, before the first response. */
    | "STOPPED"
    /** A valid delivery got no response in time. Like those below: exit code 1. */
    | "NO_RESPONSE"
    /** The connection was closed without a response. */
    | "CLOSED"
    /** 404: no such path. */
    | "NOT_FOUND"
    /** 405: the path does not take POST. */
    | "WRONG_ROUTE"
    /** 3xx, which is not followed; `message` names its target. */
    | "REDIRECTED"
    /** Another 4xx. */
    | "REJECTED"
    /** 5xx. */
    | "SERVER_ERROR";
  readonly message: string;
  /** Likely causes, or the one that further deliveries have shown. */
  readonly hints: readonly string[];
}

export interface AuditReport {
  /** The URL of the receiver, without user, password and query. */
  readonly url: string;
  readonly toleranceSeconds: number;
  readonly observed: boolean;
  readonly startedAt: string;
  readonly durationMs: number;
  /**
   * Why the checks did not run. When the receiver did not acknowledge a valid delivery, `results` has the failed
   * `baseline.valid-delivery`; otherwise, as when nothing listens at the URL, it is empty.
   */
  readonly problem?: AuditProblem;
  /** The checks in progress when the receiver stopped accepting connections. */
  readonly stoppedDuring?: readonly string[];
  /** That no signature is verified. Checks that need it are skipped, and passes that prove nothing are `inconclusive`. */
  readonly cause?: AuditCause;
  readonly results: readonly AuditResult[];
}

export type AuditVerdict = "passed" | "failed" | "could-not-run";

export type AuditSummary = Readonly<Record<AuditRequirement, Readonly<Record<AuditOutcome, number>>>>;

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

export function summaryOfReport({ results }: Pick<AuditReport, "results">): AuditSummary {
  const outcomes = (requirement: AuditRequirement) => {
    const counts = { passed: 0, failed: 0, skipped: 0, inconclusive: 0, unfinished: 0 };
    for (const result of results) if (result.requirement === requirement) counts[result.outcome] += 1;
    return counts;
  };
  return { MUST: outcomes("MUST"), SHOULD: outcomes("SHOULD") };
}

/** The checks that were judged by responses only. */
const notObserved = ({ results }: AuditReport): readonly string[] =>
  results.filter(({ responsesOnly }) => responsesOnly).map(({ id }) => id);

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
  const others = results.filter(({ outcome }) => outcome !== "failed");
  const groups = groupBy(others, ({ outcome, received }) =>
    outcome === "skipped" || outcome === "unfinished" ? `${outcome} (${received})` : outcome,
  );
  return [...groups].map(([key, group]) => wrapLines(`${key}: ${subjectsOf(group)}`, width)).join("\n");
}

function subjectsOf(results: readonly AuditResult[]): string {
  const groups = groupBy(results, ({ id }) => id.replace(/\..*/, ""));
  return [...groups].map(([subject, { length }]) => `${subject} ${length}`).join(", ");
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

/** One JSON document. `formatVersion` changes when a field is removed or changes its meaning. */
export function renderJsonReport({ cause, ...report }: AuditReport): string {
  const document = {
    tool: "check-receiver",
    formatVersion: 1,
    verdict: verdictOf(report),
    ...(cause && { cause }),
    summary: summaryOfReport(report),
    notObserved: notObserved(report),
    ...report,
  };
  return `${JSON.stringify(document, null, 2)}\n`;
}

/** The report for CI: a test case for each check. The root cause is the first; what it leaves without a result is skipped. */
export function renderJunitReport(report: AuditReport): string {
  const { cause, problem, results, stoppedDuring } = report;
  const unfinished =
    problem && results.length === 0
      ? [problem.message, ...problem.hints]
      : stoppedDuring && [`the receiver stopped during ${stoppedDuring.join(", ")}`];
  const ordered = [...results].sort((a, b) => Number(b.id === cause?.check) - Number(a.id === cause?.check));
  return renderJunit("workspace-tasks check-receiver", [
    ...ordered.map((result) => caseOf(result, result.id === cause?.check ? `${cause.message}; ` : "")),
    ...(unfinished
      ? [{ id: "run", name: "check-receiver runs to its end", error: unfinished.join(" ") }]
      : []),
  ]);
}

function caseOf({ id, requirement, title, ...result }: AuditResult, cause: string): JunitCase {
  const { outcome, sent, expected, received, fix } = result;
  const test = { id, name: `${requirement} ${title}` };
  if (outcome === "passed") return test;
  if (outcome === "unfinished") return { ...test, error: received };
  // Systems of CI have no third kind of failure: a SHOULD does not fail the run, and does not fail its case.
  const message = `${cause}expected ${expected}, received ${received}`;
  if (outcome !== "failed") return { ...test, skipped: `${outcome}: ${received}` };
  if (requirement === "SHOULD") return { ...test, skipped: `${message}; ${fix}` };
  return { ...test, failure: message, details: `sent: ${sent}; fix: ${fix}` };
}
