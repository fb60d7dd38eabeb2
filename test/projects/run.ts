// Real projects: each row of the table is an empty folder with what its user would have, npm's newest packages and our
// tarballs, a few files and a command.
//
//   npm run projects                      all of them; writes their versions into docs/compatibility.md
//   npm run projects -- --check           all of them; fails when docs/compatibility.md shows something else
//   npm run projects -- --only webpack    those with this text in their name; may be repeated. Writes the parts that are complete
//   npm run projects -- --quick           what CI runs
//   npm run projects -- --list
//
// Needs a build and the npm registry. A row that fails prints what repeats it by hand.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { inspect, parseArgs } from "node:util";
import type * as mockServer from "@workspace-tasks/mock-server";
import { packPackages } from "../../scripts/pack.ts";
import { root } from "../../scripts/packages.ts";
import { groupBy } from "../../sdk/kernel/group-by.ts";
import { freePort } from "../support/listen.ts";
import { secretA } from "../support/signed-delivery.ts";
import { type Ended, InstalledProject, specOf, type Variables } from "./installed-project.ts";
import type { Project } from "./project.ts";
import { ServersOfRows } from "./servers.ts";
import { table } from "./table/table.ts";
import { withVersions } from "./versions.ts";

const { values: flags } = parseArgs({
  options: {
    only: { type: "string", multiple: true, default: [""] },
    quick: { type: "boolean", default: false },
    check: { type: "boolean", default: false },
    list: { type: "boolean", default: false },
  },
});

const commandTimeoutMs = 600_000;
const startTimeoutMs = 120_000;
const installsAtOnce = 2;
const printedLinesMax = 120;
const page = join(root, "docs/compatibility.md");

const nameOf = ({ part, of, how, install }: Project) =>
  `${part}: ${install.find((word) => specOf(word).name === of) ?? of}${how ? `, ${how}` : ""}`;
const chosen = table.filter(
  (row) =>
    (!flags.quick || row.quick) &&
    flags.only.some((text) => nameOf(row).toLowerCase().includes(text.toLowerCase())),
);
if (chosen.length === 0) {
  console.error(`there is no project with ${flags.only.join(" or ")} in its name`);
  process.exit(2);
}
if (flags.list) {
  for (const row of chosen) console.log(`${row.quick ? "quick" : "     "}  ${nameOf(row)}`);
  process.exit();
}

interface Result {
  readonly row: Project;
  readonly version: string;
  readonly ok: boolean;
}

const { createMockServer } = (await import(
  pathToFileURL(join(root, "mock-server/dist/index.js")).href
)) as typeof mockServer;
const folder = mkdtempSync(join(tmpdir(), "workspace-tasks-projects-"));
// What has just been ended may still write.
process.once("exit", () => rmSync(folder, { recursive: true, force: true, maxRetries: 20 }));
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));

const startedAt = performance.now();
const results: Result[] = [];
await using servers = new ServersOfRows();
mkdirSync(join(folder, "tarballs"));
const tarballs = packPackages(join(folder, "tarballs"));
const groups = [...groupBy(chosen, ({ manager, install }) => `${manager} ${install.toSorted()}`).values()];
const ofInstall = groups.map((rows, index) => ({ rows, index }));
await Promise.all(Array.from({ length: installsAtOnce }, runGroups));
report();

async function runGroups(): Promise<void> {
  for (let group = ofInstall.shift(); group; group = ofInstall.shift()) await runGroup(group);
}

/** Rows with the same packages share their installation, one after the other. */
async function runGroup({ rows, index }: { rows: readonly Project[]; index: number }): Promise<void> {
  const [first] = rows;
  if (!first) return;
  const project = new InstalledProject(join(folder, String(index)), first, tarballs);
  const began = performance.now();
  const installed = await project.install();
  const seconds = secondsSince(began);
  if (installed.repeated) console.log(`  npm install was repeated: ${first.install.join(" ")}`);
  if (seconds > 60) console.log(`  npm install took ${seconds} s: ${first.install.join(" ")}`);
  for (const row of rows) {
    const rowBegan = performance.now();
    const outcome =
      installed.code === 0
        ? // A server that does not start is the fault of this row alone.
          await runRow(row, project).catch((error: unknown) => inspect(error))
        : `${project.installLine}\n${installed.output}`;
    const version = project.versionOf(row.of);
    results.push({ row, version, ok: outcome === "" });
    console.log(`${outcome === "" ? "✓" : "✗"} ${nameOf(row)} (${version}, ${secondsSince(rowBegan)} s)`);
    if (outcome !== "") console.log(repeatable(row, outcome));
  }
  rmSync(project.folder, { recursive: true, force: true });
}

/** Resolves with an empty text, or with what went wrong. */
async function runRow(row: Project, project: InstalledProject): Promise<string> {
  project.write(row.files);
  await using mock = await createMockServer();
  const env = {
    WORKSPACE_TASKS_BASE_URL: mock.baseUrl,
    WORKSPACE_TASKS_GATEWAY_URL: mock.gatewayUrl,
    WORKSPACE_TASKS_API_KEY: mock.apiKey,
    WORKSPACE_TASKS_PARTNER_API_KEY: mock.partnerApiKey,
    WORKSPACE_TASKS_SIGNING_SECRET: secretA,
    PORT: String(await freePort()),
    MOCK_PORT: String(await freePort()),
    ...(row.servers ? await servers.environment(row.servers) : {}),
  };
  if (row.run) {
    const { code, output } = await project.run(row.run, commandTimeoutMs, env);
    if (code !== 0 || !row.prints?.test(output))
      return `${output}\nended with ${code}, expected ${row.prints}`;
  }
  return row.serve ? await serve(row, project, env) : "";
}

async function serve(
  { serve: line = "", uses }: Project,
  project: InstalledProject,
  env: Variables,
): Promise<string> {
  using running = project.start(line, env);
  const ended: Promise<Ended> = running.ended();
  const timer = setTimeout(() => running[Symbol.dispose](), commandTimeoutMs);
  try {
    const origin = `http://127.0.0.1:${env["PORT"]}`;
    await responds(origin, ended);
    const run = async (command: string) => {
      const { code, output } = await project.run(command, commandTimeoutMs, env);
      if (code !== 0) throw new Error(`${command} ended with ${code}:\n${output}`);
      return output;
    };
    await uses?.({ folder: project.folder, origin, run, said: (pattern) => running.said(pattern) });
    return "";
  } catch (error) {
    running[Symbol.dispose]();
    const { output } = await ended;
    return `${error instanceof Error ? error.stack : error}\n${line} printed:\n${output}`;
  } finally {
    clearTimeout(timer);
  }
}

/** Resolves when something is served there. */
async function responds(origin: string, ended: Promise<unknown>): Promise<void> {
  let over = false;
  void ended.then(() => (over = true));
  for (const endsAt = performance.now() + startTimeoutMs; performance.now() < endsAt && !over; ) {
    const response = await fetch(origin).catch(() => undefined);
    await response?.body?.cancel();
    if (response) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error("nothing is served");
}

function repeatable({ install, files, run, serve: served }: Project, outcome: string): string {
  const texts = Object.entries(files).map(([path, text]) => `--- ${path}\n${text.trimEnd()}`);
  const lines = [`npm install ${install.join(" ")}`, run, served].filter(Boolean);
  const printed = outcome
    .split("\n")
    .slice(-printedLinesMax)
    .map((line) => line.slice(0, 500));
  const shown = [...texts, "--- in this folder", ...lines, "--- printed", ...printed];
  return shown.join("\n").replaceAll(/^/gm, "    ");
}

function secondsSince(began: number): number {
  return Math.round((performance.now() - began) / 1000);
}

function report(): void {
  const failed = results.filter(({ ok }) => !ok);
  console.log(
    `\n${results.length - failed.length} of ${results.length} projects work (${secondsSince(startedAt)} s)`,
  );
  for (const { row } of failed) console.log(`✗ ${nameOf(row)}`);
  if (failed.length > 0) process.exitCode = 1;
  else updatePage();
}

function updatePage(): void {
  const before = readFileSync(page, "utf8");
  const text = withVersions(before, results, table);
  if (text !== before && flags.check) {
    console.error("docs/compatibility.md shows other versions; run npm run projects");
    process.exitCode = 1;
  } else if (text !== before) writeFileSync(page, text);
}
