// `npm run site` builds the documentation site into docs/.vitepress/dist; `npm run site -- --serve` shows it on 127.0.0.1
// while documents change.
import { build, createServer } from "vitepress";
import { writeApiReference } from "../generate/api-reference.ts";
import { writeAssistantTexts } from "../generate/assistant-texts.ts";
import { deadAnchors } from "../generate/built-links.ts";
import { writeReferencePages } from "../generate/reference-pages.ts";
import { builtSite, setSiteBuilt } from "../generate/site-inputs.ts";
import { referenceFolder } from "./pages.ts";

const site = "docs";

await writeReferencePages(referenceFolder);
await writeApiReference(`${referenceFolder}/api`);
await (process.argv.includes("--serve") ? serve() : buildSite());

async function serve(): Promise<void> {
  const server = await createServer(site, { host: "127.0.0.1" });
  await server.listen();
  server.printUrls();
}

async function buildSite(): Promise<void> {
  await build(site);
  writeAssistantTexts(builtSite);
  const dead = deadAnchors(builtSite);
  if (dead.length === 0) return setSiteBuilt();
  console.error(dead.join("\n"));
  process.exitCode = 1;
}
