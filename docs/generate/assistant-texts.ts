// llms.txt and llms-full.txt of the site, as llmstxt.org describes them: for programs that read documents instead of people.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { readWhole } from "../../scripts/included.ts";
import { overviewSections, type Section } from "../.vitepress/overview.ts";
import { pageOf } from "../.vitepress/pages.ts";

const summary = `# workspace-tasks

> TypeScript SDK, stateful mock server and webhook receiver kit for the Workspace Task and Integration Service: GraphQL with
> API keys that are exchanged for tokens, 120 requests per minute and key, signed webhooks that arrive at least once and in
> no order.

- Install what you run: \`@workspace-tasks/sdk\` (\`createClient\`), \`@workspace-tasks/receiver-kit\` (\`createReceiver\`), in development \`@workspace-tasks/mock-server\` (\`createMockServer\`) and \`workspace-tasks\` (the command).
- Branch on \`error.code\` and \`error.outcome\`; the client paces and retries by itself, so add neither.
- Mount the receiver before body parsers, call \`receiver.start()\`, and write through \`context.transaction\`.
- In tests use the mock and its virtual clock; do not stub \`fetch\`.
`;

/** @param folder of the built site */
export function writeAssistantTexts(folder: string): void {
  const sections = overviewSections();
  const sources = sections.flatMap(({ pages }) => pages.map(({ source }) => source)).filter(pageOf);
  writeFileSync(join(folder, "llms.txt"), [summary, ...sections.map(indexOf)].join("\n"));
  writeFileSync(join(folder, "llms-full.txt"), [summary, ...sources.map(readWhole)].join("\n"));
}

const read = (file: string) => readFileSync(file, "utf8");

/** The pages of a section with the first sentence of each. */
function indexOf({ title, pages }: Section): string {
  const lines = pages.flatMap(({ label, source }) => {
    const page = pageOf(source);
    return page ? [`- [${label}](${page.replace(/\.md$/, ".html")}): ${aboutOf(source)}\n`] : [];
  });
  return `## ${title || "Start"}\n\n${lines.join("")}`;
}

/** The first sentence of the page, which is its question. */
function aboutOf(file: string): string {
  const [, text = ""] = /^# .+\n\n(?:<!--.*-->\n\n)?([\s\S]*?)(?:\n\n|$)/.exec(read(file)) ?? [];
  const plain = text.replace(/\s+/g, " ").replace(/\[([^\]]+)\]\([^)]*\)/g, "$1");
  return /^.*?[.:?](?= |$)/.exec(plain)?.[0]?.replace(/:$/, ".") ?? plain;
}
