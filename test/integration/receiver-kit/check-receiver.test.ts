import { describe, expect, it, type TestContext } from "vitest";
import {
  type AuditReport,
  auditChecks,
  auditReceiver,
  exitCodeOf,
  renderTextReport,
  verdictOf,
} from "workspace-tasks/check-receiver";
import { failedIds, musts, oldSecret, secret } from "../../support/receivers/audit-fixture.ts";
import {
  type Detection,
  type Flaw,
  flaws,
  startReferenceReceiver,
} from "../../support/receivers/reference-receiver.ts";

/** Short limits: the receivers are on this machine. */
const quick = {
  observeSettleMs: 40,
  observeTimeoutMs: 400,
  timeoutMs: 5_000,
  stallTimeoutMs: 4_000,
} as const;

/** On a busy machine even a correct receiver is late: each attempt of a test has four times as long. */
const patienceOf = ({ task }: TestContext) => 4 ** (task.result?.retryCount ?? 0);

const notPassed = ({ results }: AuditReport) => results.filter(({ outcome }) => outcome !== "passed");

/** The subjects of the checks that detect a flaw: all of their checks run, no others. */
const subjectsOf = (ids: readonly string[]) => [...new Set(ids.map((id) => id.replace(/\..*/, "")))];

describe.concurrent("check-receiver against a correct receiver", () => {
  const observed = "check-receiver passes a correct receiver whose effects are observed for each delivery";
  it(observed, { retry: 2 }, async (context) => {
    const patience = patienceOf(context);
    await using receiver = await startReferenceReceiver({
      secrets: [secret, oldSecret],
      bodyTimeoutMs: 2_000 * patience,
    });
    const { url, observeUrl } = receiver;
    const report = await auditReceiver({
      url,
      secret,
      oldSecret,
      observeUrl,
      observeSettleMs: quick.observeSettleMs,
      observeTimeoutMs: quick.observeTimeoutMs * patience,
      timeoutMs: quick.timeoutMs * patience,
      stallTimeoutMs: quick.stallTimeoutMs * patience,
    });
    expect(report.problem).toBeUndefined();
    expect(notPassed(report)).toEqual([]);
    expect(report.results.map(({ id }) => id)).toEqual(auditChecks.map(({ id }) => id));
    expect(verdictOf(report)).toBe("passed");
  });

  it("check-receiver reports that it saw responses only when there is no observe URL", async () => {
    await using receiver = await startReferenceReceiver({ secrets: [secret], flaw: "stores-no-ids" });
    const report = await auditReceiver({ url: receiver.url, secret, only: ["duplicates.again"], ...quick });
    expect(report.observed).toBe(false);
    expect(report.results).toMatchObject([{ outcome: "passed", responsesOnly: true }]);
    expect(renderTextReport(report)).toContain("judged by responses only: duplicates (1 check)");
  });

  it("check-receiver skips the checks of an old secret when none is given, and still passes", async () => {
    await using receiver = await startReferenceReceiver({ secrets: [secret] });
    const report = await auditReceiver({ url: receiver.url, secret, only: ["rotation"], ...quick });
    expect(notPassed(report).map(({ id, outcome }) => `${id} ${outcome}`)).toEqual([
      "rotation.old-secret skipped",
    ]);
    expect(verdictOf(report)).toBe("passed");
  });
});

describe.concurrent("check-receiver against receivers with one flaw", () => {
  it.for(Object.entries(flaws) as [Flaw, Detection][])(
    "check-receiver detects a receiver that %s",
    { retry: 2 },
    async ([flaw, { detectedBy, only, options }], context) => {
      const subjects = only ?? subjectsOf(detectedBy);
      await using receiver = await startReferenceReceiver({
        secrets: [secret, oldSecret],
        flaw,
        // Short only where check-receiver waits for it: on a busy machine the pieces of a body are late, too.
        bodyTimeoutMs: subjects.includes("slow") ? 2_000 : 10_000,
      });
      const { url, observeUrl } = receiver;
      const report = await auditReceiver({
        url,
        secret,
        oldSecret,
        observeUrl,
        ...quick,
        only: subjects,
        ...options,
        timeoutMs: patienceOf(context) * (options?.timeoutMs ?? quick.timeoutMs),
      });
      expect(report.problem).toBeUndefined();
      expect(failedIds(report)).toEqual(detectedBy);
      expect(exitCodeOf(report)).toBe(detectedBy.some((id) => musts.has(id)) ? 1 : 0);
    },
  );

  it("every check of check-receiver detects at least one flaw", () => {
    const detecting = new Set(Object.values(flaws).flatMap(({ detectedBy }) => detectedBy));
    const others = auditChecks.map(({ id }) => id).filter((id) => !detecting.has(id));
    // A receiver that fails this one fails it alone: check-receiver-rejections.test.ts.
    expect(others).toEqual(["baseline.valid-delivery"]);
  });
});
