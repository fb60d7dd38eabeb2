import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import {
  type AuditReport,
  type AuditResult,
  auditChecks,
  exitCodeOf,
  renderJsonReport,
  renderJunitReport,
  renderTextReport,
  summaryOfReport,
  verdictOf,
} from "workspace-tasks/check-receiver";

const passing: AuditResult = {
  id: "signature.forged",
  requirement: "MUST",
  title: "rejects a forged delivery",
  outcome: "passed",
  sent: "a forged delivery",
  expected: "a 4xx response",
  received: "401",
  fix: "Compare signatures.",
  durationMs: 3,
};
const failing: AuditResult = {
  ...passing,
  id: "timestamp.stale",
  title: "rejects an old delivery",
  outcome: "failed",
  sent: "an old delivery",
  received: "200",
  fix: "Reject a webhook-timestamp that lies more than the tolerance (300 s is customary) in the past, even with a correct signature.",
};
const weak: AuditResult = {
  ...failing,
  id: "headers.huge-id",
  requirement: "SHOULD",
  title: "copes with a huge id",
};
const skipped: AuditResult = {
  ...passing,
  id: "rotation.old-secret",
  outcome: "skipped",
  received: "needs --old-secret",
};
const open: AuditResult = {
  ...passing,
  id: "order.older",
  outcome: "unfinished",
  received: "check-receiver was stopped",
};

function reportOf(results: readonly AuditResult[], more: Partial<AuditReport> = {}): AuditReport {
  return {
    url: "http://127.0.0.1:3000/webhooks",
    toleranceSeconds: 300,
    observed: false,
    startedAt: "2026-03-01T09:30:00.000Z",
    durationMs: 1234,
    results,
    ...more,
  };
}

describe("renderTextReport", () => {
  it("the text report has the failures with their fixes, MUST before SHOULD, equal sentences once, and a verdict", () => {
    const fix = `${failing.fix} Ids are opaque.`;
    expect(renderTextReport(reportOf([passing, { ...weak, fix }, failing, skipped]))).toBe(
      `check-receiver: http://127.0.0.1:3000/webhooks (tolerance 300 s)

FAIL  timestamp.stale (MUST): rejects an old delivery
      sent      an old delivery
      expected  a 4xx response
      received  200
      fix       Reject a webhook-timestamp that lies more than the tolerance
                (300 s is customary) in the past, even with a correct signature.

FAIL  headers.huge-id (SHOULD): copes with a huge id
      sent      an old delivery
      expected  a 4xx response
      received  200
      fix       As for timestamp.stale. Ids are opaque.

passed: signature 1
skipped (needs --old-secret): rotation 1

MUST    1 passed, 1 failed, 1 skipped
SHOULD  0 passed, 1 failed
1 MUST failed. (1.2 s)
`,
    );
  });

  it("the verbose text report has a line for every check, within the width of the terminal", () => {
    const report = reportOf([passing, weak, failing, skipped]);
    expect(renderTextReport(report, { verbose: true })).toContain(
      `pass  MUST    signature.forged     rejects a forged delivery  401
FAIL  SHOULD  headers.huge-id      copes with a huge id       200
FAIL  MUST    timestamp.stale      rejects an old delivery    200
skip  MUST    rotation.old-secret  rejects a forged delivery  needs --old-secret
`,
    );
    const narrow = renderTextReport(report, { verbose: true, width: 60 });
    expect(narrow).toContain("skip  MUST    rotation.old-secret  rejects a forged delivery\n");
  });

  it("the root cause is the first sentence of the text report, and the first failure", () => {
    const cause = { check: "signature.forged", message: "no signature is checked" };
    const follows = { ...skipped, received: "follows from signature.forged", follows: true };
    const forged: AuditResult = { ...passing, outcome: "failed", received: "200" };
    const lines = renderTextReport(
      reportOf([failing, forged, follows, { ...passing, id: "events.catalog", outcome: "inconclusive" }], {
        cause,
      }),
    ).split("\n");
    expect(lines.slice(2, 6)).toEqual([
      "No signature is checked; 1 finding follows from it, and 1 check passed only",
      "because nothing is verified.",
      "",
      "FAIL  signature.forged (MUST): rejects a forged delivery",
    ]);
  });

  it("the text report names the checks in progress when the receiver stopped, without their details", () => {
    const text = renderTextReport(reportOf([open], { stoppedDuring: ["order.older"] }));
    expect(text).toContain("The receiver stopped accepting connections during order.older.");
    expect(text).toContain("The receiver stopped.");
    expect(text).not.toContain("fix ");
  });
});

describe("verdictOf", () => {
  it.each([
    ["passed, exit code 0, when every MUST passed", [passing, weak, skipped], {}, "passed", 0],
    [
      "passed, exit code 0, when only a SHOULD has no result",
      [passing, { ...open, requirement: "SHOULD" }],
      {},
      "passed",
      0,
    ],
    ["failed, exit code 1, when a MUST failed", [passing, failing, open], {}, "failed", 1],
    [
      "failed, exit code 1, when the receiver stopped",
      [passing, open],
      { stoppedDuring: ["x"] },
      "failed",
      1,
    ],
    ["could-not-run, exit code 2, when a MUST has no result", [passing, open], {}, "could-not-run", 2],
    ["could-not-run, exit code 2, when there are no results", [], {}, "could-not-run", 2],
  ] as const)("the verdict is %s", (_, results, more, verdict, exitCode) => {
    const report = reportOf(results, more);
    expect(verdictOf(report)).toBe(verdict);
    expect(exitCodeOf(report)).toBe(exitCode);
  });

  it("the JSON document has the verdict, the counts and the results", () => {
    const report = reportOf([passing, failing, weak, { ...skipped, responsesOnly: true }]);
    const document: unknown = JSON.parse(renderJsonReport(report));
    expect(document).toEqual({
      tool: "check-receiver",
      formatVersion: 1,
      verdict: "failed",
      summary: {
        MUST: { passed: 1, failed: 1, skipped: 1, inconclusive: 0, unfinished: 0 },
        SHOULD: { passed: 0, failed: 1, skipped: 0, inconclusive: 0, unfinished: 0 },
      },
      notObserved: ["rotation.old-secret"],
      ...report,
    });
    expect(summaryOfReport(report).MUST.passed).toBe(1);
  });
});

describe("renderJunitReport", () => {
  it("the JUnit report begins with the root cause; only a MUST fails its case", () => {
    const cause = { check: "timestamp.stale", message: "nothing is checked" };
    const junit = renderJunitReport(reportOf([passing, weak, failing, skipped, open], { cause }));
    expect(junit.split("\n").slice(1, 4)).toEqual([
      '<testsuites tests="5" failures="1" skipped="2" errors="1">',
      '<testsuite name="workspace-tasks check-receiver" tests="5" failures="1" skipped="2" errors="1">',
      expect.stringMatching(
        /^<testcase classname="timestamp.stale" .*<failure message="nothing is checked; expected a 4xx response, received 200">/,
      ),
    ]);
    expect(junit).toContain('<skipped message="skipped: needs --old-secret"/>');
    expect(junit).toContain('<error message="check-receiver was stopped"></error>');
  });

  it("the JUnit report of a run that could not start has one case, with the reason", () => {
    const problem = { code: "UNREACHABLE", message: "could not connect", hints: ["Start it."] } as const;
    expect(renderJunitReport(reportOf([], { problem }))).toContain(
      '<testcase classname="run" name="check-receiver runs to its end"><error message="could not connect Start it."></error>',
    );
  });
});

describe("auditChecks", () => {
  it("docs/maintainers/receiver-reports.md names failed checks by their titles and requirements", () => {
    const rows = readFileSync("docs/maintainers/receiver-reports.md", "utf8").split("\n");
    const published = rows.flatMap(
      (row) => /^\| ([^|]+) \| (MUST|SHOULD) \| (?!SHOULD)\w/.exec(row)?.slice(1, 3).join(" | ") ?? [],
    );
    const checks = auditChecks.map(({ requirement, title }) => `${title} | ${requirement}`);
    expect(published.length).toBeGreaterThan(10);
    expect(published.filter((row) => !checks.includes(row))).toEqual([]);
  });
});
