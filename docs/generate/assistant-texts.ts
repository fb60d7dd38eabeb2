// llms.txt, as llmstxt.org describes it: the list of documents for programs that read them instead of people.
import { readFileSync } from "node:fs";
import { entryPoints } from "../../test/support/public-exports.ts";

/** Pages that a user of the package needs, in reading order. */
const guides = [
  "README.md",
  "docs/concepts.md",
  "docs/sdk.md",
  "docs/import.md",
  "docs/webhooks.md",
  "docs/recipes/http-frameworks.md",
  "docs/recipes/serverless.md",
  "docs/recipes/test-runners.md",
  "docs/recipes/migration.md",
  "docs/production.md",
  "docs/mock-server.md",
  "docs/mock-limits.md",
  "docs/parallel-tests.md",
  "docs/troubleshooting.md",
  "docs/errors.md",
  "docs/compatibility.md",
];
const references = ["docs/cli.md", "docs/mock-errors.md", "docs/assumptions.md"];
const optional = ["docs/rabbitmq.md", "docs/scale.md", "docs/compare.md", "docs/benchmarks.md"];

const summary = `# workspace-tasks

> TypeScript SDK, stateful mock server and webhook receiver kit for the Workspace Task and Integration Service: GraphQL with
> API keys that are exchanged for tokens, 120 requests per minute and key, signed webhooks that arrive at least once and in
> no order.

- Install what you run: \`@workspace-tasks/sdk\` (\`createClient\`), \`@workspace-tasks/receiver-kit\` (\`createReceiver\`), in development \`@workspace-tasks/mock-server\` (\`createMockServer\`) and \`workspace-tasks\` (the command).
- Branch on \`error.code\` and \`error.outcome\`; the client paces and retries by itself, so add neither.
- Mount the receiver before body parsers, call \`receiver.start()\`, and write through \`context.transaction\`.
- In tests use the mock and its virtual clock; do not stub \`fetch\`.
- All paths are relative to the repository; each package contains its own documents.
`;

export function assistantIndex(): string {
  const list = (files: readonly string[]) =>
    files.map((file) => `- [${titleOf(file)}](${file}): ${aboutOf(file)}\n`).join("");
  const api = entryPoints().map(({ specifier, source }) => `- [${specifier}](${source})\n`);
  const parts = [
    `## Guides\n\n${list(guides)}`,
    `## Entry points, every export with its documentation\n\n${api.join("")}`,
    `## Reference\n\n${list(references)}- [GraphQL schema](schema.graphql)\n`,
    `## Optional\n\n${list(optional)}`,
  ];
  return `${summary}\n${parts.join("\n")}`;
}

const read = (file: string) => readFileSync(file, "utf8");
const titleOf = (file: string) => /^# (.+)$/m.exec(read(file))?.[1] ?? file;

/** The first sentence of the page. */
function aboutOf(file: string): string {
  const [, text = ""] = /^# .+\n\n(?:<!--.*-->\n\n)?([\s\S]*?)(?:\n\n|$)/.exec(read(file)) ?? [];
  const plain = text.replace(/\s+/g, " ").replace(/\[([^\]]+)\]\([^)]*\)/g, "$1");
  return /^.*?[.:](?= |$)/.exec(plain)?.[0]?.replace(/:$/, ".") ?? plain;
}
