// Handlers that write with an ORM: the programs of docs/recipes/orm.md, with what that page tells to install.
import { type Files, initialised, installedBy, type Project, program, shownBy } from "../project.ts";

const page = "docs/recipes/orm.md";
const file = (name: string) => program(`examples/orm/${name}`);
const compilerOptions = {
  target: "es2023",
  module: "nodenext",
  types: ["node"],
  strict: true,
  noUncheckedIndexedAccess: true,
  exactOptionalPropertyTypes: true,
  rewriteRelativeImportExtensions: true,
  outDir: "dist",
  // Declarations of these packages name drivers that are not installed.
  skipLibCheck: true,
};
const common = {
  "orm.mts": program("orm.mts"),
  "tsconfig.json": JSON.stringify({ compilerOptions, include: ["*.ts", "*.mts"] }),
};

const tables = `${shownBy(page, "CREATE TABLE task_changes")}; ${shownBy(page, "CREATE TABLE applied_events")}`;
const onPostgres = {
  ...common,
  "receiver.ts": file("receiver.ts").replace("inbox:", "leaseMs: 3_000,\n  inbox:"),
  "rows.ts": `import pg from "pg";
const pool = new pg.Pool({ connectionString: process.env["DATABASE_URL"] });
export const create = () => pool.query(${JSON.stringify(tables)});
export const rowsOf = async (taskId: string) =>
  (await pool.query("SELECT * FROM task_changes WHERE task_id = $1", [taskId])).rows;
export const write = (taskId: string, status: string) =>
  pool.query("INSERT INTO task_changes (task_id, status) VALUES ($1, $2)", [taskId, status]);
`,
};
const onSqlite = {
  ...common,
  "receiver.ts": `import { createReceiver } from "@workspace-tasks/receiver-kit";
import { sqliteInbox } from "@workspace-tasks/receiver-kit/sqlite";
export const receiver = createReceiver({
  secrets: [process.env["WORKSPACE_TASKS_SIGNING_SECRET"] ?? ""],
  leaseMs: 3_000,
  inbox: sqliteInbox({ path: "webhooks.db", driver: "better-sqlite3" }),
});
`,
  "rows.ts": `import Database from "better-sqlite3";
const database = new Database("webhooks.db");
export const create = async () =>
  database.exec("CREATE TABLE task_changes (id INTEGER PRIMARY KEY, task_id text NOT NULL, status text NOT NULL)");
export const rowsOf = async (taskId: string) =>
  database.prepare("SELECT * FROM task_changes WHERE task_id = ?").all(taskId);
export const write = async (taskId: string, status: string) =>
  database.prepare("INSERT INTO task_changes (task_id, status) VALUES (?, ?)").run(taskId, status);
`,
};

/** A receiver that is right about everything but its write: what a recipe would print if its write were repeated. */
const careless = `import { receiver } from "./receiver.ts";
import { write } from "./rows.ts";
receiver.onState("task", async ({ taskId, status }) => {
  await write(taskId, status);
});
`;

interface Recipe {
  readonly of: string;
  readonly how?: string;
  readonly headings: readonly string[];
  readonly files: Files;
  /** Before the compiler. */
  readonly prepare?: string;
}

const [kit = "", pg = "", pgTypes = ""] = installedBy(page);
const attempts = (id: string) => `node dist/orm.mjs break ${id}; node dist/orm.mjs end ${id}`;

function recipe({ of, how, headings, files, prepare = "true" }: Recipe): Project {
  const usesPostgres = headings[0] !== "With SQLite";
  const run = [
    `${prepare} && tsc && node dist/orm.mjs create`,
    attempts("recipe"),
    `export RECIPE=./careless.js`,
    attempts("careless"),
  ];
  return {
    part: "ORMs",
    of,
    ...(how !== undefined && { how }),
    install: [
      ...["typescript@6", "@types/node", kit],
      ...(usesPostgres ? [pg, pgTypes] : []),
      ...headings
        .flatMap((heading) => installedBy(page, heading))
        .map((name) => (name === "better-sqlite3" ? "better-sqlite3@12" : name)), // the newest on Node 20
    ],
    files: {
      ...(usesPostgres ? onPostgres : onSqlite),
      "package.json": initialised(page),
      "careless.ts": careless,
      ...files,
    },
    run: run.join("\n"),
    prints:
      /recipe: attempt 1[\s\S]+recipe: attempt 2[\s\S]+recipe: written once[\s\S]+careless: written 3 times/,
    ...(usesPostgres && { servers: "postgres" }),
  };
}

/** `text` with each pattern replaced, which must be found. */
function changed(text: string, changes: readonly (readonly [RegExp, string])[]): string {
  return changes.reduce((before, [pattern, replacement]) => {
    if (!pattern.test(before)) throw new Error(`${page}: ${pattern} is not found`);
    return before.replace(pattern, () => replacement);
  }, text);
}

const sqlite = (text: string) => shownBy(page, text, "With SQLite").trimEnd();
const [, knexOnSqlite = "", connectionOnSqlite = ""] =
  /^(const knex.*)\n(const connection.*)$/.exec(sqlite("useNullAsDefault")) ?? [];

export const orms: readonly Project[] = [
  recipe({ of: "drizzle-orm", headings: ["Drizzle"], files: { "handler.ts": file("drizzle.ts") } }),
  recipe({ of: "kysely", headings: ["Kysely"], files: { "handler.ts": file("kysely.ts") } }),
  recipe({ of: "knex", headings: ["Knex"], files: { "handler.ts": file("knex.ts") } }),
  recipe({ of: "typeorm", headings: ["TypeORM"], files: { "handler.ts": file("typeorm.ts") } }),
  recipe({
    of: "prisma",
    headings: ["Prisma"],
    files: { "handler.ts": file("prisma.ts"), "schema.prisma": file("schema.prisma") },
    // Its generator needs no engine, and looks for one.
    prepare: "PRISMA_SCHEMA_ENGINE_BINARY=/bin/true prisma generate",
  }),
  recipe({
    of: "drizzle-orm",
    how: "SQLite",
    headings: ["With SQLite", "Drizzle"],
    files: { "handler.ts": file("drizzle-sqlite.ts") },
  }),
  recipe({
    of: "kysely",
    how: "SQLite",
    headings: ["With SQLite", "Kysely"],
    files: {
      "handler.ts": changed(file("kysely.ts"), [
        [/PostgresDialect/, "SqliteDialect"],
        [/import .*"pg";/, 'import type Database from "better-sqlite3";'],
        [/const pool.*\n.*;/, sqlite("SqliteDialect")],
      ]),
    },
  }),
  recipe({
    of: "knex",
    how: "SQLite",
    headings: ["With SQLite", "Knex"],
    files: {
      "handler.ts": changed(file("knex.ts"), [
        [/const knex.*/, knexOnSqlite],
        [/const connection.*/, connectionOnSqlite],
      ]),
    },
  }),
];
