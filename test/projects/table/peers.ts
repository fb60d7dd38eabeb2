// Package managers, and the optional peers in the lowest version that the packages accept and in the newest.
import { peers as declared } from "../../../scripts/packages.ts";
import { type Project, program } from "../project.ts";

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

/** The programs by peer, with their arguments. */
const programs: Readonly<Record<string, readonly string[]>> = {
  "@opentelemetry/api": ["opentelemetry.mjs"],
  amqplib: ["amqplib.mjs", "peers-$PORT"],
  "better-sqlite3": ["sqlite.mjs", "better-sqlite3"],
  express: ["express.mjs"],
  graphql: ["graphql.mjs"],
  libsql: ["sqlite.mjs", "libsql"],
  msw: ["msw.mjs"],
  pg: ["pg.mjs"],
  vitest: ["node_modules/vitest/vitest.mjs", "run", "peer.test.mjs"],
};
/** Beside the peers. */
const lowestOthers = ["@opentelemetry/sdk-metrics@2.0.0"];

/** A range starts with its lowest version, of which zeros may be left out. */
function lowestOf(range: string): string {
  const [version = ""] = /\d+(?:\.\d+)*/.exec(range) ?? [];
  return [...version.split("."), "0", "0"].slice(0, 3).join(".");
}

function peer(of: string, how: string, install: readonly string[]): Project {
  const [file = "", ...rest] = programs[of] ?? [];
  if (file === "") throw new Error(`expected a program for the optional peer ${of}`);
  const own = file.startsWith("node_modules/") ? (rest.at(-1) ?? "") : file;
  return {
    part: "peers",
    of,
    how,
    install,
    files: {
      [own]: program(own),
      "deliver.mjs": program("deliver.mjs"),
    },
    run: `node ${[file, ...rest].join(" ")} && echo used`,
    prints: /used/,
    servers: true,
  };
}

const sqlite = "better-sqlite3";
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
  peer("msw", "MSW 2", ["node@24", ...ours, "msw@2"]),
  peer("vitest", "vitest 4", ["node@24", ...ours, "vitest@4"]),
  // Compiled where it has no file for this machine, which takes minutes. Version 13 needs a newer compiler.
  peer(sqlite, "lowest", [...ours.slice(1, 3), `${sqlite}@${lowestSqlite}`]),
  peer(sqlite, "newest on Node 20", [...ours.slice(1, 3), `${sqlite}@12`]),
  peer("graphql", "the SDK alone", ["@workspace-tasks/sdk", "graphql@16"]),
  peer("graphql", "the SDK alone", ["@workspace-tasks/sdk", "graphql@17"]),
];
