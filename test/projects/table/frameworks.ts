// Receivers in HTTP frameworks: the programs of docs/recipes/http-frameworks.md, with what that page tells to install.
import { installedBy, type Project, shownBy } from "../project.ts";
import { receivesWebhooks } from "../webhook-calls.ts";

const page = "docs/recipes/http-frameworks.md";
const [kit = "", libsql = ""] = installedBy(page);
const receiver = { "receiver.ts": shownBy(page, "export const receiver") };
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
  part: "frameworks",
  of,
  install: [
    ...["node@22", "typescript", kit, libsql],
    ...installedBy(page, heading).map((name) => versions[name] ?? name),
  ],
  files: { ...receiver, ...tsconfig, "server.ts": code ?? shownBy(page, "await receiver.start()", heading) },
  run: "tsc && echo compiled",
  prints: /compiled/,
  serve: "exec node server.ts",
  uses: receivesWebhooks(echo),
  ...others,
});

const express = shownBy(page, "await receiver.start()", "Express");
const afterParser = express.replace(
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
  recipe({ heading: "node:http", of: "node", echo: false }),
];
