// What docs/compatibility.md shows: for each part the packages that were tried, in which versions.
import { groupBy } from "../../sdk/kernel/group-by.ts";
import type { Project } from "./project.ts";

const titles: Readonly<Record<string, string>> = {
  next: "Next.js",
  node: "Node",
  bun: "Bun",
  deno: "Deno",
  vite: "Vite",
  rollup: "Rollup",
  jest: "Jest",
  msw: "MSW",
  typescript: "TypeScript",
  express: "Express",
  fastify: "Fastify",
  koa: "Koa",
  hono: "Hono",
  nuxt: "Nuxt",
  "drizzle-orm": "Drizzle",
  knex: "Knex",
  kysely: "Kysely",
  prisma: "Prisma",
  typeorm: "TypeORM",
  "@nestjs/core": "NestJS",
  "@sveltejs/kit": "SvelteKit",
  "react-router": "React Router",
  "@playwright/test": "Playwright",
  "@vercel/ncc": "ncc",
};

const begin = "<!-- projects:begin -->";
const end = "<!-- projects:end -->";

/** Replaces the lines of the parts of which every row was tried. */
export function withVersions(
  text: string,
  results: readonly { readonly row: Project; readonly version: string }[],
  table: readonly Project[],
): string {
  const [before, rest = ""] = text.split(begin);
  const [shown = "", after] = rest.split(end);
  if (before === undefined || after === undefined) throw new Error(`expected ${begin} and ${end}`);
  const lines = new Map(
    [...shown.matchAll(/^\| ([A-Za-z ]+) \| .*$/gm)].map(([line, part = ""]) => [part, line]),
  );
  for (const [part, rows] of groupBy(results, ({ row }) => row.part)) {
    const isWhole = rows.length === table.filter((row) => row.part === part).length;
    if (isWhole && part !== "pages") lines.set(part, `| ${part} | ${textOf(rows)} |`);
  }
  const sorted = [...lines.values()].toSorted().join("\n");
  return `${before}${begin}\n| | versions |\n|---|---|\n${sorted}\n${end}${after}`;
}

function textOf(rows: readonly { readonly row: Project; readonly version: string }[]): string {
  const byPackage = [...groupBy(rows, ({ row }) => row.of)].toSorted(([a], [b]) => (a < b ? -1 : 1));
  return byPackage
    .map(([name, ofPackage]) => {
      const versions = new Set(ofPackage.map(({ version }) => shortOf(name, version)));
      return `${titles[name] ?? name} ${[...versions].toSorted((a, b) => Number(a) - Number(b)).join(", ")}`.trim();
    })
    .join("; ");
}

/** The major; with the minor where it says more. */
const shortOf = (name: string, version: string) =>
  (version.startsWith("0.") || name === "typescript" || version.startsWith("20.19")
    ? /^\d+\.\d+/
    : /^\d+/
  ).exec(version)?.[0] ?? version;
