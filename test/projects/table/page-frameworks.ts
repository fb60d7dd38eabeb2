// Frameworks that render pages. The SDK alone in Next.js: in pages with and without settings, a route handler, an edge route,
// and a page that Next.js may keep; SDK and receiver in SvelteKit and React Router.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { sampleEvent } from "../../support/sample-event.ts";
import { secretX } from "../../support/signed-delivery.ts";
import { type Files, installedBy, type Project, program, type Served } from "../project.ts";
import { deliver } from "../webhook-calls.ts";

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
  "app/plain/page.js": page("", "../../call"),
  "app/kept/page.js": page(
    'export const dynamic = "force-dynamic";\nexport const fetchCache = "default-cache";',
    "../../call",
  ),
  "app/node/route.js": route,
  "app/edge/route.js": `${route}export const runtime = "edge";\n`,
};

async function showsName(url: string): Promise<void> {
  const response = await fetch(url);
  const text = await response.text();
  const shown = `${url}: ${response.status} ${text.slice(0, 500)}`;
  assert.ok(response.ok && text.includes("Example Tax Firm"), shown);
}

const callsTheService =
  (edge: boolean) =>
  async ({ folder, origin }: Served): Promise<void> => {
    for (const path of ["/", "/plain", "/kept", "/kept", "/node", ...(edge ? ["/edge"] : [])])
      await showsName(origin + path);
    const kept = join(folder, ".next/cache");
    const stored = readdirSync(kept, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && entry.parentPath.includes("fetch-cache"))
      .filter(({ parentPath, name }) => readFileSync(join(parentPath, name), "utf8").includes("Token"));
    assert.deepEqual(stored, [], "responses with tokens on the disk");
  };

const edgeRoute = "app/edge/route.js";
const { [edgeRoute]: _, ...withoutEdge } = files;

const next = (major: string, react: string, how: string, build: string, edge = true): Project => ({
  part: "page frameworks",
  of: "next",
  how: `the SDK, ${how}`,
  install: ["@workspace-tasks/sdk", `next@${major}`, `react@${react}`, `react-dom@${react}`],
  files: edge ? files : withoutEdge,
  run: `${build} && echo built`,
  prints: /built/,
  serve: "exec next start --port $PORT",
  uses: callsTheService(edge),
});

const recipes = "docs/recipes/http-frameworks.md";

/** Everything that is marked as code of the server may be imported, but not run, by a build. */
const withReceiver = (
  of: string,
  install: readonly string[],
  others: Pick<Project, "files" | "run" | "serve">,
) => ({
  part: "page frameworks" as const,
  of,
  install: ["node@24", "@workspace-tasks/sdk", ...installedBy(recipes).slice(0, 2), ...install, "vite"],
  ...others,
  prints: /built in/,
  uses: async ({ origin, said }: Served) => {
    await showsName(origin);
    const event = sampleEvent({ note: "x".repeat(900_000) });
    assert.equal(await deliver(`${origin}/webhooks`, sampleEvent(), secretX), 401, "forged");
    assert.equal(await deliver(`${origin}/webhooks`, event), 200, "900 KB");
    await said(new RegExp(`task ${event["taskId"]} is RUNNING`));
  },
});

const svelteKit: Files = {
  "vite.config.js": `import adapter from "@sveltejs/adapter-node";
import { sveltekit } from "@sveltejs/kit/vite";

export default { plugins: [sveltekit({ adapter: adapter() })] };
`,
  "src/app.html": '<html lang="en"><head>%sveltekit.head%</head><body>%sveltekit.body%</body></html>\n',
  "src/call.js": call,
  "src/receiver.ts": program("examples/http-frameworks/next-receiver.ts"),
  "src/hooks.server.js":
    'import { getReceiver } from "./receiver.ts";\nexport const init = () => getReceiver().start();\n',
  "src/routes/+page.server.js":
    'import { nameOfWorkspace } from "../call.js";\nexport const load = async () => ({ name: await nameOfWorkspace() });\n',
  "src/routes/+page.svelte": "<script>let { data } = $props();</script>\n<h1>{data.name}</h1>\n",
  "src/routes/webhooks/+server.js":
    'import { getReceiver } from "../../receiver.ts";\nexport const POST = ({ request }) => getReceiver().fetch(request);\n',
};

const reactRouter: Files = {
  "vite.config.js":
    'import { reactRouter } from "@react-router/dev/vite";\nexport default { plugins: [reactRouter()] };\n',
  "app/routes.js":
    'export default [{ index: true, file: "page.jsx" }, { path: "webhooks", file: "webhooks.js" }];\n',
  "app/root.jsx": `import { Outlet } from "react-router";

export default function Root() {
  return <html><body><Outlet /></body></html>;
}
`,
  "app/call.js": call,
  "app/page.jsx": `import { nameOfWorkspace } from "./call.js";

export const loader = nameOfWorkspace;
export default function Page({ loaderData }) {
  return <h1>{loaderData}</h1>;
}
`,
  "app/receiver.server.ts": `${program("examples/http-frameworks/receiver.ts")}\nawait receiver.start();\n`,
  "app/webhooks.js":
    'import { receiver } from "./receiver.server.ts";\nexport const action = ({ request }) => receiver.fetch(request);\n',
};
// They require each other in one version.
const reactRouterPackages = [
  "react-router",
  "@react-router/dev",
  "@react-router/node",
  "@react-router/serve",
];

export const pageFrameworks: readonly Project[] = [
  next("14", "18", "webpack", "next build"),
  next("15", "19", "webpack", "next build"),
  next("15", "19", "Turbopack", "next build --turbopack"),
  // Next.js 16.4 with webpack builds no edge route, whatever is in it: it misses a file of its own.
  next("latest", "latest", "webpack", "next build --webpack", false),
  { ...next("latest", "latest", "Turbopack", "next build"), quick: true },
  withReceiver(
    "@sveltejs/kit",
    ["@sveltejs/kit", "@sveltejs/adapter-node", "@sveltejs/vite-plugin-svelte", "svelte"],
    { files: svelteKit, run: "vite build", serve: "BODY_SIZE_LIMIT=1M exec node build" },
  ),
  withReceiver(
    "react-router",
    [...reactRouterPackages.map((name) => `${name}@8.4.0`), "react", "react-dom", "isbot"],
    { files: reactRouter, run: "react-router build", serve: "exec react-router-serve build/server/index.js" },
  ),
];
