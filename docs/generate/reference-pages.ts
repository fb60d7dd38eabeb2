// What documents include in the package and on the site: tables that programs, schemas and measurements have, and files that a
// reader of the repository opens there. It is not committed.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, parse } from "node:path";
import { assumptions } from "../../mock-server/tools/compare/assumptions.ts";
import { brokerMetrics, type Metric, receiverMetrics } from "../../receiver-kit/telemetry/metrics.ts";
import { root } from "../../scripts/packages.ts";
import { markdownTable, regionOf } from "../../test/support/documents.ts";
import { controlApiTable } from "./control-api-table.ts";
import { helpTexts } from "./help-texts.ts";
import { peerTable } from "./peer-table.ts";
import { scaleTables } from "./scale-tables.ts";
import { settingsTable } from "./settings-table.ts";

/** The language of files that documents include, with their regions; without a region the whole file. */
const shownFiles: Readonly<Record<string, readonly [language: string, ...references: string[]]>> = {
  "first-request": ["ts", "first-request.ts#first-request"],
  "first-receiver": ["ts", "receiver-sqlite.ts#receiver"],
  "postgres-receiver": ["ts", "receiver-postgres.ts#receiver"],
  "rabbitmq-receiver": ["ts", "receiver-rabbitmq.ts"],
  telemetry: ["ts", "receiver-telemetry.ts#open-telemetry"],
  "first-test": ["ts", "vitest-fixture.test.ts#vitest"],
  msw: ["ts", "msw.test.ts#msw"],
  overrides: ["ts", "mock-overrides.test.ts#override"],
  "parallel-tests": ["python", "parallel-tests.py#world", "parallel-tests.py#test"],
  "import-clients": ["ts", "nightly-import.ts#clients"],
  tenants: ["ts", "receiver-tenants.ts#receiver", "receiver-tenants.ts#onboard"],
  alerts: ["yaml", "deployment/alerts.yaml#alerts"],
  program: ["js", "deployment/server.mjs#server"],
  migration: ["js", "deployment/migrate.mjs#migrate"],
  image: ["dockerfile", "deployment/Dockerfile#receiver"],
  "mock-image": ["dockerfile", "deployment/mock.Dockerfile#mock"],
  compose: ["yaml", "deployment/compose.yaml#compose"],
  kubernetes: [
    "yaml",
    ...["deployment", "job", "service"].map((region) => `deployment/kubernetes.yaml#${region}`),
  ],
  systemd: ["ini", "deployment/webhooks.service#systemd"],
  "github-actions": ["yaml", "deployment/github-actions.yaml#github"],
  "gitlab-ci": ["yaml", "deployment/gitlab-ci.yaml#gitlab"],
  "pipeline-receiver": ["js", "deployment/receiver.mjs#pipeline"],
};

/** Folders whose files are shown whole. */
const shownFolders = ["http-frameworks", "lambda", "orm", "test-runners"];

/** @param folder from the root of the repository */
export async function writeReferencePages(folder: string): Promise<void> {
  mkdirSync(folder, { recursive: true });
  const regions = Object.entries(shownFiles).map(([name, [language, ...references]]) => [
    name,
    references.map((reference) => codeBlock(language, codeOf(reference))).join("\n\n"),
  ]);
  const texts: Readonly<Record<string, string>> = {
    commands: await helpTexts(),
    "control-api": controlApiTable(),
    settings: settingsTable(),
    peers: peerTable(),
    assumptions: assumptionTable(),
    "receiver-metrics": metricTable(receiverMetrics),
    "broker-metrics": metricTable(brokerMetrics),
    benchmarks: readFileSync(join(root, "test/bench/results/tables.txt"), "utf8"),
    ...scaleTables(),
    ...Object.fromEntries([...regions, ...shownFolders.flatMap(wholeFiles)]),
  };
  for (const [name, text] of Object.entries(texts)) writeFileSync(join(folder, `${name}.md`), `${text}\n`);
}

const codeBlock = (language: string, code: string) => `\`\`\`${language}\n${code}\`\`\``;

const codeOf = (reference: string) =>
  reference.includes("#") ? regionOf(`examples/${reference}`) : wholeFile(reference);

/** Without the marks of regions. */
const wholeFile = (file: string) =>
  readFileSync(join(root, "examples", file), "utf8").replaceAll(/^ *\/\/ #(?:end)?region.*\n/gm, "");

/** The files of a folder, by its name and theirs: `orm-prisma`. */
const wholeFiles = (folder: string): readonly (readonly [name: string, text: string])[] =>
  readdirSync(join(root, "examples", folder)).map((file) => {
    const { name, ext } = parse(file);
    return [`${folder}-${name}`, codeBlock(ext.slice(1), wholeFile(join(folder, file)))];
  });

const assumptionTable = () =>
  markdownTable(
    ["", "subject", "choice"],
    Object.entries(assumptions).map(([id, [subject, choice]]) => [id, subject, choice]),
  );

const metricTable = (metrics: readonly Metric[]) =>
  markdownTable(
    ["instrument", "type", "value"],
    metrics.map(({ name, type, unit, help }) => [`\`${name}\``, unit === "s" ? `${type}, s` : type, help]),
  );
