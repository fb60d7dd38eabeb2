// The SDK alone in Next.js: in a page, a route handler, an edge route, and a page that Next.js may keep.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Project, Served } from "../project.ts";

const call = `import { createClient } from "@workspace-tasks/sdk";

export async function nameOfWorkspace() {
  const client = createClient({
    baseUrl: process.env.WORKSPACE_TASKS_BASE_URL,
    apiKey: process.env.WORKSPACE_TASKS_API_KEY,
  });
  const { workspace } = await client.me();
  await client.close();
  return workspace.name;
}
`;
const page = (settings: string, path: string) => `import { nameOfWorkspace } from "${path}";

${settings}
export default async function Page() {
  return <h1>{await nameOfWorkspace()}</h1>;
}
`;
const route = `import { nameOfWorkspace } from "../../call";

export const dynamic = "force-dynamic";
export const GET = async () => new Response(await nameOfWorkspace());
`;
const files = {
  "call.js": call,
  "app/layout.js":
    "export default function Layout({ children }) {\n  return <html><body>{children}</body></html>;\n}\n",
  "app/page.js": page('export const dynamic = "force-dynamic";', "../call"),
  "app/kept/page.js": page(
    'export const dynamic = "force-dynamic";\nexport const fetchCache = "default-cache";',
    "../../call",
  ),
  "app/node/route.js": route,
  "app/edge/route.js": `${route}export const runtime = "edge";\n`,
};

const callsTheService =
  (edge: boolean) =>
  async ({ folder, origin }: Served): Promise<void> => {
    for (const path of ["/", "/kept", "/kept", "/node", ...(edge ? ["/edge"] : [])]) {
      const response = await fetch(origin + path);
      const text = await response.text();
      assert.ok(
        response.ok && text.includes("Example Tax Firm"),
        `${path}: ${response.status} ${text.slice(0, 500)}`,
      );
    }
    const kept = join(folder, ".next/cache");
    const stored = readdirSync(kept, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && entry.parentPath.includes("fetch-cache"))
      .filter(({ parentPath, name }) => readFileSync(join(parentPath, name), "utf8").includes("Token"));
    assert.deepEqual(stored, [], "responses with tokens on the disk");
  };

const edgeRoute = "app/edge/route.js";
const { [edgeRoute]: _, ...withoutEdge } = files;

const next = (major: string, react: string, how: string, build: string, edge = true): Project => ({
  part: "frameworks",
  of: "next",
  how: `the SDK, ${how}`,
  install: ["@workspace-tasks/sdk", `next@${major}`, `react@${react}`, `react-dom@${react}`],
  files: edge ? files : withoutEdge,
  run: `${build} && echo built`,
  prints: /built/,
  serve: "exec next start --port $PORT",
  uses: callsTheService(edge),
});

export const nextApplications: readonly Project[] = [
  next("14", "18", "webpack", "next build"),
  next("15", "19", "webpack", "next build"),
  next("15", "19", "Turbopack", "next build --turbopack"),
  // Next.js 16.4 with webpack builds no edge route, whatever is in it: it misses a file of its own.
  next("latest", "latest", "webpack", "next build --webpack", false),
  { ...next("latest", "latest", "Turbopack", "next build"), quick: true },
];
