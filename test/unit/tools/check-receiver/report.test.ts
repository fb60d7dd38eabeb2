import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import {
  type AuditReport,
  type AuditResult,
  auditChecks,
  exitCodeOf,
  renderJsonReport,
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
  it("the text report has a table, the failures with their fixes, MUST before SHOULD, and a verdict", () => {
    expect(renderTextReport(reportOf([passing, weak, failing, skipped]))).toBe(
      `check-receiver: http://127.0.0.1:3000/webhooks (tolerance 300 s)

pass  MUST    signature.forged     rejects a forged delivery  401
FAIL  SHOULD  headers.huge-id      copes with a huge id       200
FAIL  MUST    timestamp.stale      rejects an old delivery    200
skip  MUST    rotation.old-secret  rejects a forged delivery  needs --old-secret

FAIL  timestamp.stale (MUST): rejects an old delivery
      sent      an old delivery
      expected  a 4xx response
      received  200
      fix       Reject a webhook-timestamp that lies more than the tolerance (300 s is customary) in
                the past, even with a correct signature.

FAIL  headers.huge-id (SHOULD): copes with a huge id
      sent      an old delivery
      expected  a 4xx response
      received  200
      fix       Reject a webhook-timestamp that lies more than the tolerance (300 s is customary) in
                the past, even with a correct signature.

MUST    1 passed, 1 failed, 1 skipped
SHOULD  0 passed, 1 failed
1 MUST failed. (1.2 s)
`,
    );
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
        MUST: { passed: 1, failed: 1, skipped: 1, unfinished: 0 },
        SHOULD: { passed: 0, failed: 1, skipped: 0, unfinished: 0 },
      },
      notObserved: ["rotation.old-secret"],
      ...report,
    });
    expect(summaryOfReport(report).MUST.passed).toBe(1);
  });
});

describe("auditChecks", () => {
  // Reports and scripts of users refer to ids: one never changes its meaning or requirement.
  it("docs/maintainers/receiver-reports.md has every check with its requirement and its title", () => {
    const rows = readFileSync("docs/maintainers/receiver-reports.md", "utf8").split("\n");
    const published = rows.flatMap((row) => {
      const [, id, requirement, title] =
        /^\| (\S+\.\S+) \| (MUST|SHOULD) \| .* \| ([^|]+) \|$/.exec(row) ?? [];
      return id === undefined ? [] : [{ id, requirement, title }];
    });
    expect(auditChecks.map(({ id, requirement, title }) => ({ id, requirement, title }))).toEqual(published);
  });
});
