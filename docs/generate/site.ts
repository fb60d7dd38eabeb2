// `npm run site` builds the documentation site into docs/.vitepress/dist; `npm run site -- --serve` shows it on 127.0.0.1
// while documents change.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { resolve } from "node:path";
import { build } from "vite";
import { referenceFolder } from "../.vitepress/pages.ts";
import { writeApiReference } from "./api-reference.ts";
import { writeAssistantTexts } from "./assistant-texts.ts";
import { deadAnchors } from "./built-links.ts";
import { writeReferencePages } from "./reference-pages.ts";
import { builtSite, setSiteBuilt, setSiteUnbuilt } from "./site-inputs.ts";

await writeReferencePages(referenceFolder);
await writeApiReference(`${referenceFolder}/api`);
if (process.argv.includes("--serve")) await vitepress("dev", "docs", "--host", "127.0.0.1");
else await buildSite();

async function buildSite(): Promise<void> {
  setSiteUnbuilt();
  await vitepress("build", "docs");
  const outDir = resolve(builtSite, "playground");
  await build({ configFile: "docs/playground/vite.config.ts", build: { outDir } });
  writeAssistantTexts(builtSite);
  const dead = deadAnchors(builtSite);
  if (dead.length === 0) return setSiteBuilt();
  console.error(dead.join("\n"));
  process.exitCode = 1;
}

async function vitepress(...args: readonly string[]): Promise<void> {
  const program = spawn(process.execPath, ["node_modules/vitepress/bin/vitepress.js", ...args], {
    stdio: "inherit",
  });
  const [code] = await once(program, "close");
  if (code !== 0) process.exit(code ?? 1);
}
