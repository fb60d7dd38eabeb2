// What a user's disk gets: installs the tarballs into empty projects, as npm does it, and compares sizes and numbers of
// packages with limits. The limits are 5 % above what was measured, and only go down.
//
//   node --import tsx test/gates/installed-sizes.mjs [--json]
//
// Needs a build and the npm registry.
import { existsSync, lstatSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { capture } from "../../scripts/capture.mjs";
import { packPackages } from "../../scripts/pack.ts";

const mega = 1_000_000;
/** What is a user's choice or need anyway is not counted. */
const projects = [
  {
    title: "SDK",
    install: ["@workspace-tasks/sdk"],
    packagesMax: 1,
    bytesMax: 0.85 * mega,
    uncounted: [],
    never: ["@workspace-tasks/mock-server", "@workspace-tasks/receiver-kit", "zod"],
  },
  {
    title: "receiver kit",
    install: ["@workspace-tasks/receiver-kit", "@workspace-tasks/events"],
    packagesMax: 3,
    bytesMax: 1.115 * mega,
    uncounted: ["zod"],
    never: ["@workspace-tasks/mock-server", "@workspace-tasks/receiver-rabbitmq", "workspace-tasks"],
  },
  {
    title: "receiver kit with RabbitMQ",
    install: [
      "@workspace-tasks/receiver-rabbitmq",
      "@workspace-tasks/receiver-kit",
      "@workspace-tasks/events",
    ],
    packagesMax: 4,
    bytesMax: 1.252 * mega,
    uncounted: ["zod"],
    never: ["@workspace-tasks/mock-server", "workspace-tasks"],
  },
  {
    title: "mock server with the command",
    install: ["workspace-tasks", "@workspace-tasks/mock-server", "@workspace-tasks/events"],
    packagesMax: 8,
    bytesMax: 3.27 * mega,
    uncounted: ["graphql", "zod", "standardwebhooks"],
    never: ["@workspace-tasks/receiver-kit", "@workspace-tasks/sdk"],
  },
];

const folder = mkdtempSync(join(tmpdir(), "workspace-tasks-sizes-"));
const results = [];
try {
  const tarballs = packPackages(folder);
  for (const project of projects) results.push(await measure(project, tarballs));
} finally {
  rmSync(folder, { recursive: true, force: true });
}
if (process.argv.includes("--json")) console.log(JSON.stringify(results, null, 2));
if (results.some(({ problems }) => problems.length > 0)) process.exitCode = 1;

async function measure({ title, install, packagesMax, bytesMax, uncounted, never }, tarballs) {
  const project = join(folder, title.replaceAll(" ", "-"));
  mkdirSync(project);
  writeFileSync(join(project, "package.json"), JSON.stringify({ name: "installed", private: true }));
  const args = ["install", "--no-audit", "--no-fund", "--prefer-offline", "--omit=peer"];
  // The others of this repository come from tarballs, too: the registry may not have this version.
  const { code, output } = await capture("npm", [...args, ...install.map((name) => tarballs.get(name))], {
    cwd: project,
    shell: process.platform === "win32",
  });
  if (code !== 0) throw new Error(`npm install failed:\n${output}`);
  const modules = join(project, "node_modules");
  const names = packagesIn(modules);
  const bytes = names
    .filter((name) => !uncounted.includes(name))
    .reduce((sum, name) => sum + sizeOf(join(modules, name)), 0);
  const problems = [
    ...(names.length > packagesMax ? [`${names.length} packages, expected at most ${packagesMax}`] : []),
    ...(bytes > bytesMax ? [`${bytes} bytes, expected at most ${bytesMax}`] : []),
    ...never.filter((name) => existsSync(join(modules, name))).map((name) => `${name} is installed`),
  ];
  const text = `${title}: ${names.length} packages, ${(bytes / mega).toFixed(2)} MB without ${uncounted.join(", ") || "exception"}`;
  console.log(
    problems.length > 0 ? `✗ ${text}: ${problems.join("; ")}; they are ${names.join(", ")}` : `✓ ${text}`,
  );
  return { title, packages: names, bytes, problems };
}

function packagesIn(modules) {
  return readdirSync(modules)
    .filter((name) => !name.startsWith("."))
    .flatMap((name) =>
      name.startsWith("@") ? readdirSync(join(modules, name)).map((each) => `${name}/${each}`) : [name],
    );
}

function sizeOf(path) {
  const stats = lstatSync(path);
  return stats.isDirectory()
    ? readdirSync(path).reduce((sum, name) => sum + sizeOf(join(path, name)), 0)
    : stats.size;
}
