// Package managers, and the optional peers in the lowest version that the packages accept and in the newest.
import { peers as declared } from "../../../scripts/packages.ts";
import { importsOf, type Project, program } from "../project.ts";

const ours = [
  "@workspace-tasks/sdk",
  "@workspace-tasks/mock-server",
  "@workspace-tasks/receiver-kit",
  "@workspace-tasks/receiver-rabbitmq",
];
const everyProduct = program("every-product.mjs");

const manager = (of: "pnpm" | "yarn", run: string): Project => ({
  part: "package managers",
  of,
  how: of === "pnpm" ? "strict peers" : "Plug'n'Play",
  manager: of,
  install: ours.slice(0, 3),
  files: { "server.mjs": everyProduct },
  run,
  prints: /WorkspaceUser/,
  quick: true,
});

/** Programs by peer, with their arguments. */
const programs: Readonly<Record<string, string>> = {
  "@opentelemetry/api": "opentelemetry.mjs",
  amqplib: "amqplib.mjs peers-$PORT",
  graphql: "graphql.mjs",
};
/** The examples of the others, and words of their tests. */
const examples: Readonly<Record<string, readonly [file: string, test: string]>> = {
  "better-sqlite3": ["receiver-kit", "SQLite"],
  express: ["receiver-kit", "Express"],
  libsql: ["receiver-kit", "SQLite"],
  msw: ["msw", ""],
  pg: ["receiver-kit", "one statement"],
  vitest: ["vitest-fixture", ""],
};
/** Beside the peers. */
const lowestOthers = ["@opentelemetry/sdk-metrics@2.0.0"];

const sqlite = "better-sqlite3";
const besideSqlite = [...ours.slice(1, 3), "vitest@4", "express", "pg"];

/** A range starts with its lowest version, of which zeros may be left out. */
function lowestOf(range: string): string {
  const [version = ""] = /\d+(?:\.\d+)*/.exec(range) ?? [];
  return [...version.split("."), "0", "0"].slice(0, 3).join(".");
}

function peer(of: string, how: string, install: readonly string[]): Project {
  const row = { part: "peers", of, how, install, servers: true } as const;
  const line = programs[of];
  if (line !== undefined) {
    const [file = ""] = line.split(" ");
    const files = { [file]: program(file), "deliver.mjs": program("deliver.mjs") };
    return { ...row, files, run: `node ${line} && echo used`, prints: /used/ };
  }
  const [name, test] = examples[of] ?? [];
  if (name === undefined) throw new Error(`expected a program or an example for the optional peer ${of}`);
  const path = `examples/${name}.test.ts`;
  return {
    ...row,
    files: { ...importsOf(path), [path]: withDriver(of, program(path)) },
    run: `vitest run --testTimeout 60000 -t "${test}"`,
    prints: /Tests +\d+ passed/,
  };
}

/** An example with SQLite, with the driver that is not the default. */
const withDriver = (driver: string, text: string) =>
  driver === sqlite
    ? text
        .replaceAll('from "libsql"', `from "${driver}"`)
        .replaceAll("sqliteInbox(file)", `sqliteInbox({ path: file, driver: "${driver}" })`)
    : text;

const together = declared.filter(({ name }) => name !== sqlite);
const newest = together.map(({ name }) => name);
const lowest = together.map(({ name, range }) => `${name}@${lowestOf(range)}`);
const lowestSqlite = lowestOf(declared.find(({ name }) => name === sqlite)?.range ?? "");

export const peers: readonly Project[] = [
  manager("pnpm", "node server.mjs"),
  manager("yarn", "npx -y -p @yarnpkg/cli-dist yarn node server.mjs"),
  ...newest.map((name) => peer(name, "lowest", ["node@20.19.0", ...ours, ...lowest, ...lowestOthers])),
  ...newest.map((name) =>
    peer(name, "newest", ["node@24", ...ours, ...newest, "@opentelemetry/sdk-metrics"]),
  ),
  peer("msw", "MSW 2", ["node@24", ...ours, "msw@2", "vitest"]),
  peer("vitest", "vitest 4", ["node@24", ...ours, "vitest@4"]),
  // Compiled where it has no file for this machine, which takes minutes. Version 13 needs a newer compiler.
  peer(sqlite, "lowest", [...besideSqlite, `${sqlite}@${lowestSqlite}`]),
  peer(sqlite, "newest on Node 20", [...besideSqlite, `${sqlite}@12`]),
  peer("graphql", "the SDK alone", ["@workspace-tasks/sdk", "graphql@16"]),
  peer("graphql", "the SDK alone", ["@workspace-tasks/sdk", "graphql@17"]),
];
