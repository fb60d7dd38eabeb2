// What pages of the site show of programs, schemas and measurements, as Markdown that they include. It is not committed.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../../scripts/packages.ts";
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
  };
  for (const [name, text] of Object.entries(texts)) writeFileSync(join(folder, `${name}.md`), `${text}\n`);
}
