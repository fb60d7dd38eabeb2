// Receivers in HTTP frameworks: the programs of docs/recipes/http-frameworks.md, with what that page tells to install.
import { initialised, installedBy, type Project, program, shownBy } from "../project.ts";
import { underAttack } from "../stranger.ts";
import { receivesWebhooks } from "../webhook-calls.ts";

const page = "docs/recipes/http-frameworks.md";
const [kit = "", libsql = ""] = installedBy(page);
const file = (name: string) => program(`examples/http-frameworks/${name}.ts`);
const manifest = { "package.json": initialised(page) };
const receiver = { ...manifest, "receiver.ts": file("receiver") };
const compilerOptions = {
  target: "es2023",
  module: "nodenext",
  types: ["node"],
  strict: true,
  noUncheckedIndexedAccess: true,
  exactOptionalPropertyTypes: true,
  allowImportingTsExtensions: true,
  noEmit: true,
};
const tsconfig = { "tsconfig.json": JSON.stringify({ compilerOptions }) };

const decorators = { experimentalDecorators: true, emitDecoratorMetadata: true };
const compiled = {
  ...compilerOptions,
  ...decorators,
  allowImportingTsExtensions: false,
  rewriteRelativeImportExtensions: true,
  noEmit: false,
  outDir: "dist",
  // Of Nest's declarations.
  skipLibCheck: true,
};

/** Programs of NestJS are compiled: Node does not run decorators. */
function nest(major: string, how: string, code: string, echo: boolean): Project {
  const versions = (name: string) => (name.startsWith("@nestjs/") ? `${name}@${major}` : name);
  return {
    part: "HTTP frameworks",
    of: "@nestjs/core",
    how,
    install: ["typescript@6", kit, libsql, ...installedBy(page, "NestJS").map(versions)],
    files: {
      ...receiver,
      "server.ts": code,
      "tsconfig.json": JSON.stringify({ compilerOptions: compiled }),
    },
    run: "tsc && echo compiled",
    prints: /compiled/,
    serve: underAttack("node dist/server.js"),
    uses: receivesWebhooks({ echo, readsItself: echo }),
  };
}

const layout =
  "export default function Layout({ children }: { children: React.ReactNode }) {\n  return <html><body>{children}</body></html>;\n}\n";

/** The receiver in Next.js, and a route that parses its body. */
const nextReceiver = (how: string, build: string): Project => ({
  part: "HTTP frameworks",
  of: "next",
  how,
  install: [kit, libsql, ...installedBy(page, "Next.js")],
  files: {
    "receiver.ts": file("next-receiver"),
    "app/webhooks/route.ts": shownBy(page, "export const POST"),
    "instrumentation.ts": shownBy(page, "export async function register"),
    "app/layout.tsx": layout,
    "app/page.tsx": "export default function Page() {\n  return <h1>ready</h1>;\n}\n",
    "app/echo/route.ts":
      "export const POST = async (request: Request) => Response.json(await request.json());\n",
    ...manifest,
  },
  run: `${build} && echo built`,
  prints: /built/,
  serve: underAttack("next start --port $PORT"),
  uses: receivesWebhooks(),
});

interface Recipe {
  readonly heading: string;
  readonly of: string;
  readonly how?: string;
  /** Other versions than the newest. */
  readonly versions?: Readonly<Record<string, string>>;
  readonly code?: string;
  readonly echo?: boolean;
  readonly quick?: true;
}

/** Node 22.18 runs the files as they are. */
const recipe = ({ heading, of, versions = {}, code, echo, ...others }: Recipe): Project => ({
  part: "HTTP frameworks",
  of,
  install: [
    ...["node@22", "typescript", kit, libsql],
    ...installedBy(page, heading).map((name) => versions[name] ?? name),
  ],
  files: { ...receiver, ...tsconfig, "server.ts": code ?? file(heading.toLowerCase().replace(":", "-")) },
  run: "tsc && echo compiled",
  prints: /compiled/,
  serve: underAttack("node server.ts"),
  uses: receivesWebhooks({ echo, readsItself: code === undefined }),
  ...others,
});

const afterParser = file("express").replace(
  /const app[\s\S]*?json\(\)\);\n/,
  shownBy(page, "rawBody: bytes", "Express"),
);
const express4 = { express: "express@4", "@types/express": "@types/express@4" };

export const frameworks: readonly Project[] = [
  recipe({ heading: "Express", of: "express", quick: true }),
  recipe({ heading: "Express", of: "express", how: "after a body parser", code: afterParser }),
  recipe({ heading: "Express", of: "express", versions: express4 }),
  recipe({
    heading: "Express",
    of: "express",
    how: "after a body parser",
    code: afterParser,
    versions: express4,
  }),
  recipe({ heading: "Fastify", of: "fastify" }),
  recipe({ heading: "Koa", of: "koa" }),
  recipe({ heading: "Hono", of: "hono" }),
  nest("latest", "app.use", file("nest"), true),
  nest("latest", "a controller", file("nest-controller"), false),
  nest("11", "a controller", file("nest-controller"), false),
  nextReceiver("a receiver, Turbopack", "next build"),
  nextReceiver("a receiver, webpack", "next build --webpack"),
  recipe({ heading: "node:http", of: "node", echo: false }),
];
