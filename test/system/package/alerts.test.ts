// The rules for Prometheus are read by promtool, and each of them fires for the numbers that it is for.
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { parse, stringify } from "yaml";
import { findDebianProgram } from "../../support/debian-programs.ts";
import { atDepth } from "../../support/depth.ts";
import { missingProgram } from "../../support/shared-server.ts";
import { withFolder } from "../../support/with-folder.ts";

const file = resolve("examples/deployment/alerts.yaml");
const { groups } = parse(readFileSync(file, "utf8"));
const rules: readonly {
  alert: string;
  labels: { severity: string };
  annotations: Readonly<Record<string, string>>;
}[] = groups[0].rules;
const describeWithPromtool = describe.skipIf((await missingProgram("promtool")) !== undefined);

/** Runs promtool; rejects with what it says. */
function promtool(...args: readonly string[]): string {
  const found = findDebianProgram("promtool");
  if ("missing" in found) throw new Error(found.missing);
  return execFileSync(found.program, args, { encoding: "utf8", stdio: "pipe" });
}

type Series = Readonly<Record<string, string>>;
const receiver = (name: string, labels = "") =>
  `workspace_tasks_receiver_${name}{source="portal"${labels && `,${labels}`}}`;
const rejections = (code: string) => receiver("rejections_total", `code="${code}"`);
const inbox = (name: string, labels = "") =>
  `workspace_tasks_inbox_${name}{source="portal"${labels && `,${labels}`}}`;
const bucket = (le: string) =>
  `workspace_tasks_receiver_accept_duration_bucket{messaging_destination_name="portal",le="${le}"}`;

/** Five hours of a receiver that works, with one rejection of each kind an hour before the case begins. */
const healthy: Series = {
  [inbox("rows", 'state="dead"')]: "0x300",
  [inbox("rows", 'state="quarantined"')]: "0x300",
  [receiver("deliveries_total", 'outcome="accepted"')]: "0+60x300",
  [receiver("ignored_total", 'event="task.new"')]: "0x300",
  [receiver("late_queries_total")]: "0x300",
  [receiver("reconcile_age")]: "60x300",
  [receiver("reconciled_total", 'outcome="enqueued"')]: "0x30 1x270",
  [bucket("5")]: "0+60x300",
  [bucket("10")]: "0+60x300",
  [bucket("+Inf")]: "0+60x300",
  [rejections("METHOD_NOT_ALLOWED")]: "0+1x300",
};
const beginsLater = (step: number) => `0x50 1x60 1+${step}x190`;
const quiet = { [receiver("deliveries_total", 'outcome="accepted"')]: "0+60x110 6600x190" };
const lateByCode = Object.fromEntries(
  [
    ...["SIGNATURE_MISMATCH", "TIMESTAMP_TOO_OLD", "TIMESTAMP_TOO_NEW", "BODY_TOO_LARGE", "BODY_ENCODED"],
    ...["SIGNATURE_MALFORMED", "TENANT_UNKNOWN", "WORKSPACE_MISMATCH"],
  ].map((code) => [code, { ...quiet, [rejections(code)]: beginsLater(10) }]),
);

/** The series by which each alert fires. */
const cases: Readonly<Record<string, Readonly<Record<string, Series>>>> = {
  NothingAccepted: { "each is rejected": { ...quiet, [rejections("HEADER_MISSING")]: beginsLater(10) } },
  DeliveriesRejected: {
    ...lateByCode,
    "a source is rejected beside a busy one": {
      'workspace_tasks_receiver_deliveries_total{source="busy",outcome="accepted"}': "0+6000x300",
      ...lateByCode["SIGNATURE_MISMATCH"],
    },
  },
  ReceiverMisused: Object.fromEntries(
    ["BODY_CONSUMED", "RESPONSE_FAILED", "SECRETS_UNAVAILABLE"].map((code) => [
      code,
      { [rejections(code)]: beginsLater(1) },
    ]),
  ),
  BacklogFull: { "429": { [rejections("BACKLOG_FULL")]: beginsLater(5) } },
  InboxFails: { "no delivery is stored": { [receiver("outage", 'operation="store"')]: "0+60x300" } },
  NoNumbers: {
    "no receiver": {
      [inbox("rows", 'state="dead"')]: "_x300",
      [inbox("rows", 'state="quarantined"')]: "_x300",
    },
  },
  EventsWait: { "an old event": { [inbox("oldest_pending")]: "400x300" } },
  EventsDead: { "one is dead": { [inbox("rows", 'state="dead"')]: "0x100 1x200" } },
  EventsQuarantined: { "one is unusable": { [inbox("rows", 'state="quarantined"')]: "0x100 1x200" } },
  EventsIgnored: { "a new name": { [receiver("ignored_total", 'event="task.new"')]: "0x270 5x30" } },
  ReconcileFails: { "the service is away": { [receiver("reconcile_age")]: "0+60x300" } },
  DeliveriesLost: { "in every hour": { [receiver("reconciled_total", 'outcome="enqueued"')]: "0+1x300" } },
  ResponsesSlow: { "above 5 s": { [bucket("5")]: "0+1x300" } },
  QueriesLate: { one: { [receiver("late_queries_total")]: "0x270 1x30" } },
};

/** Which alerts fire at the end. */
function firing(folder: string, series: Series): readonly string[] {
  const test = {
    rule_files: [file],
    tests: [
      {
        interval: "1m",
        input_series: Object.entries({ ...healthy, ...series }).map(([name, values]) => ({
          series: name,
          values,
        })),
        promql_expr_test: rules.map(({ alert }) => ({
          expr: `count by (alertname) (ALERTS{alertname="${alert}",alertstate="firing"})`,
          eval_time: "290m",
          exp_samples: [],
        })),
      },
    ],
  };
  const path = join(folder, "tests.yaml");
  writeFileSync(path, stringify(test));
  try {
    promtool("test", "rules", path);
    return [];
  } catch (error) {
    const { stdout = "", stderr = "" } = error as { stdout?: string; stderr?: string };
    const output = `${stdout}${stderr}`;
    return [...new Set([...output.matchAll(/got: {?.*?alertname="(\w+)"/g)].map(([, name = ""]) => name))];
  }
}

describeWithPromtool("the rules for Prometheus", () => {
  it("are accepted by promtool", () => {
    expect(promtool("check", "rules", "--lint=all", file)).toContain(`SUCCESS: ${rules.length} rules found`);
  });

  it("do not fire for a receiver that works, of which strangers ask", () =>
    withFolder(async (folder) => {
      expect(firing(folder, {})).toEqual([]);
    }));

  it.each(
    rules.flatMap(({ alert }) =>
      Object.entries(cases[alert] ?? {})
        .slice(0, atDepth(1, undefined))
        .map(([name, series]) => ({ alert, name, series })),
    ),
  )("$alert fires: $name", ({ alert, series }) =>
    withFolder(async (folder) => {
      expect(firing(folder, series)).toContain(alert);
    }),
  );
});

describe("each alert", () => {
  it("has a severity, a summary, a case above, and the address of a section of the runbook with its name", () => {
    const runbook = readFileSync("docs/runbook.md", "utf8");
    for (const { alert, labels, annotations } of rules) {
      expect(["critical", "warning"]).toContain(labels.severity);
      expect(annotations).toEqual({
        summary: expect.stringMatching(/./),
        runbook: `docs/runbook.md#${alert.toLowerCase()}`,
      });
      expect(cases[alert], alert).toBeDefined();
      expect(runbook, alert).toMatch(new RegExp(`^### ${alert}$`, "m"));
    }
  });
});
