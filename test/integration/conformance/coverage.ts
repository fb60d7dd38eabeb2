import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { markdownTable } from "../../support/markdown-table.ts";
import { auditDeviations, specificationDeviations } from "./audit-deviations.ts";
import { type RuleId, rules } from "./rules.ts";

export type ConformanceTest = {
  readonly rule: string;
  /** Whether it needs the mock's control API. */
  readonly mockOnly: boolean;
};

const testCall = /\b(it|mockTest)(?:\.each\([\s\S]*?\))?\(\s*["'`]([A-Z]\d+) /g;

/** The tests of a folder whose titles start with the id of a rule. */
export function readConformanceTests(folder: string): readonly ConformanceTest[] {
  const texts = readdirSync(folder)
    .filter((file) => file.endsWith(".test.ts"))
    .map((file) => readFileSync(join(folder, file), "utf8"));
  return texts.flatMap((text) =>
    [...text.matchAll(testCall)].map(([, call, rule = ""]) => ({ rule, mockOnly: call === "mockTest" })),
  );
}

/** Rules without a test, and rules that tests name and that do not exist. */
export function findGaps(tests: readonly ConformanceTest[]): { untested: string[]; unknown: string[] } {
  const named = new Set(tests.map(({ rule }) => rule));
  return {
    untested: Object.keys(rules).filter((id) => !named.has(id)),
    unknown: [...named].filter((id) => !Object.hasOwn(rules, id)),
  };
}

const subjects: Readonly<Record<string, string>> = {
  T: "Transport and errors",
  K: "API keys and tokens",
  L: "Rate limit",
  W: "Webhook endpoints",
  C: "Event catalog",
  E: "Events and payloads",
  D: "Delivery",
  P: "Partner operations",
  V: "Versioning",
};

/** docs/maintainers/conformance.md: each rule with the number of its tests. */
export function renderConformanceTable(tests: readonly ConformanceTest[]): string {
  const sections = Object.entries(subjects).map(([letter, subject]) => {
    const ids = (Object.keys(rules) as RuleId[]).filter((id) => id.startsWith(letter));
    const rows = ids.map((id) => renderRule(id, tests));
    return `## ${letter}. ${subject}\n\n${markdownTable(["", "rule", "tests", "mock"], rows)}\n`;
  });
  return `${introduction(tests)}\n${sections.join("\n")}\n${audits()}`;
}

function renderRule(id: RuleId, tests: readonly ConformanceTest[]): readonly string[] {
  const own = tests.filter(({ rule }) => rule === id);
  const needMock = own.filter(({ mockOnly }) => mockOnly).length;
  return [id, rules[id], String(own.length), needMock === 0 ? "" : String(needMock)];
}

function audits(): string {
  const deviations = Object.entries(auditDeviations).map(([id, reason]) => `- **${id}**: ${reason}.`);
  const recommendations = Object.entries(specificationDeviations).map(
    ([recommended, choice]) => `- **${recommended}**: ${choice}.`,
  );
  return `## GraphQL over HTTP

The base router over HTTP and the gateway in process pass the 61 audits of graphql-http, except:

${deviations.join("\n")}

They follow every requirement of the specification (September 2026), and not these recommendations:

${recommendations.join("\n")}
`;
}

function introduction(tests: readonly ConformanceTest[]): string {
  const ids = Object.keys(rules).length;
  const anywhere = tests.filter(({ mockOnly }) => !mockOnly).length;
  return `# Conformance

How exactly the mock follows the interface of the service: ${ids} rules, and ${tests.length} tests. Numbers such as A-5 are
[assumptions](../assumptions.md).

Titles of the tests in \`test/integration/conformance/\` begin with their rule: \`npx vitest run test/integration/conformance -t "T1 "\`. ${anywhere} of them also run against
a real service: set \`WORKSPACE_TASKS_TARGET\` to its base URL, \`WORKSPACE_TASKS_API_KEY\`, \`WORKSPACE_TASKS_READ_ONLY_API_KEY\` and
\`WORKSPACE_TASKS_PARTNER_API_KEY\`, and \`WORKSPACE_TASKS_GATEWAY\` if the gateway is not at \`/gateway\`. The column "mock" counts tests that
need the mock's control API.

A test writes this page: \`npx vitest run test/integration/conformance/coverage.test.ts --update\`.
`;
}
