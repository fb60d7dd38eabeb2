// What pages of the site show of programs, files, schemas and measurements, as Markdown that they include. It is not committed.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../../scripts/packages.ts";
import { regionOf } from "../../test/support/marked-blocks.ts";
import { controlApiTable } from "./control-api-table.ts";
import { helpTexts } from "./help-texts.ts";
import { peerTable } from "./peer-table.ts";
import { scaleTables } from "./scale-tables.ts";
import { settingsTable } from "./settings-table.ts";

/** @param folder from the root of the repository */
export async function writeReferencePages(folder: string): Promise<void> {
  mkdirSync(folder, { recursive: true });
  const texts = {
    commands: await helpTexts(),
    "control-api": controlApiTable(),
    settings: settingsTable(),
    peers: peerTable(),
    benchmarks: readFileSync(join(root, "test/bench/results/tables.txt"), "utf8"),
    ...scaleTables(),
    ...deploymentFiles(),
  };
  for (const [name, text] of Object.entries(texts)) writeFileSync(join(folder, `${name}.md`), `${text}\n`);
}

/** Files that a reader of the repository opens there. */
function deploymentFiles(): Readonly<Record<string, string>> {
  const shown = (language: string, reference: string) =>
    `\`\`\`${language}\n${regionOf(`examples/deployment/${reference}`)}\`\`\``;
  return {
    alerts: shown("yaml", "alerts.yaml#alerts"),
    program: shown("js", "server.mjs#server"),
    migration: shown("js", "migrate.mjs#migrate"),
    "mock-image": shown("dockerfile", "mock.Dockerfile#mock"),
    compose: shown("yaml", "compose.yaml#compose"),
    kubernetes: ["deployment", "job", "service"]
      .map((region) => shown("yaml", `kubernetes.yaml#${region}`))
      .join("\n\n"),
    systemd: shown("ini", "webhooks.service#systemd"),
  };
}
