// The tarballs in projects of the kinds that their users have: Jest with its defaults, as ES modules, with SWC and ts-jest,
// NestJS, a server bundle of Vite, a bundle of webpack for browsers, Yarn without node_modules, and pnpm with strict peers.
// Everything else comes from the npm registry:
//
//   node --import tsx test/gates/consumer-matrix.mjs
//
// Needs a build.
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { capture } from "../../scripts/capture.mjs";
import { packPackages } from "../../scripts/pack.ts";

const shell = process.platform === "win32";
const nest = ["common", "core", "platform-express"].map((name) => `@nestjs/${name}@11`);
const tools = [
  "jest@30",
  "ts-jest@29",
  "@swc/core@1",
  "@swc/jest@0.2",
  "vite@8",
  "webpack@5",
  "@types/jest@30",
  "@types/node@20",
  "express@5",
  "libsql",
  "rxjs@7",
  "reflect-metadata@0.2",
];

const everyProduct = `import { createMockServer } from "@workspace-tasks/mock-server";
import { createReceiver, memoryInbox } from "@workspace-tasks/receiver-kit";
import { createClient } from "@workspace-tasks/sdk";
const mock = await createMockServer();
const client = createClient({ baseUrl: mock.baseUrl, apiKey: mock.apiKey });
const receiver = createReceiver({ secrets: ["whsec_" + "A".repeat(43) + "="], inbox: memoryInbox() });
await receiver.start();
console.log((await client.me()).__typename);
for (const each of [receiver, client, mock]) await each.close();
`;

const project = mkdtempSync(join(tmpdir(), "workspace-tasks-consumer-"));
const bin = (name) => join(project, "node_modules", name);
let tarballs;
let failed = false;
try {
  await install();
  await jest();
  await jestFixture();
  await nestApplication();
  await serverBundle();
  await browserBundle();
  await plugAndPlay();
  await strictPeers();
} finally {
  rmSync(project, { recursive: true, force: true });
}
if (failed) process.exitCode = 1;

async function install() {
  tarballs = packPackages(project);
  write("package.json", JSON.stringify({ name: "consumer", private: true }));
  const packages = [...tarballs.values(), "typescript@5.9", ...tools, ...nest];
  const { code, output } = await capture(
    "npm",
    ["install", "--no-audit", "--no-fund", "--prefer-offline", ...packages],
    { cwd: project, shell },
  );
  if (code !== 0) throw new Error(`npm install failed:\n${output}`);
}

function write(file, text) {
  writeFileSync(join(project, file), text);
}

async function check(title, command, args, expected = /^/, options = {}) {
  const { code, output } = await capture(command, args, { cwd: project, ...options });
  const ok = code === 0 && expected.test(output);
  console.log(`${ok ? "✓" : "✗"} ${title}`);
  if (ok) return;
  failed = true;
  console.log(output);
}

async function jest() {
  const body = `async () => {
  const mock = await createMockServer();
  const client = createClient({ baseUrl: mock.baseUrl, apiKey: mock.apiKey });
  const receiver = createReceiver({ secrets: ["whsec_" + "A".repeat(43) + "="], inbox: sqliteInbox(":memory:") });
  expect(typeof webhookMiddleware(receiver)).toBe("function");
  await receiver.start();
  expect((await client.me()).__typename).toBe("WorkspaceUser");
  await expect(client.webhooks.endpoints.delete("none")).rejects.toMatchObject({ code: "NOT_FOUND" });
  await receiver.close();
  await client.close();
  await mock.close();
}`;
  const names = {
    "@workspace-tasks/sdk": "createClient",
    "@workspace-tasks/mock-server": "createMockServer",
    "@workspace-tasks/receiver-kit": "createReceiver",
    "@workspace-tasks/receiver-kit/express": "webhookMiddleware",
    "@workspace-tasks/receiver-kit/sqlite": "sqliteInbox",
  };
  const statements = (toText) =>
    Object.entries(names)
      .map(([entry, name]) => toText(name, `"${entry}"`))
      .join("\n");
  write(
    "plain.test.js",
    `${statements((name, entry) => `const { ${name} } = require(${entry});`)}\ntest("jest", ${body});`,
  );
  write(
    "typed.test.ts",
    `${statements((name, entry) => `import { ${name} } from ${entry};`)}\ntest("ts-jest", ${body});`,
  );
  write("ts-jest.config.json", JSON.stringify({ preset: "ts-jest", testMatch: ["**/typed.test.ts"] }));
  const program = bin("jest/bin/jest.js");
  await check("Jest with its defaults", process.execPath, [program, "--config", "{}", "plain"], /1 passed/);
  await check(
    "ts-jest with its defaults",
    process.execPath,
    [program, "--config", "ts-jest.config.json"],
    /1 passed/,
  );
}

/** The entry point for Jest: a world for each test, and the matchers. */
async function jestFixture() {
  const tests = `
const fixture = worldPerTest({ world: { clock: "virtual" } });
test("has a world", async () => {
  const { baseUrl, apiKey, clock, control } = fixture.world;
  const client = createClient({ baseUrl, apiKey, clock });
  const { taskId } = await control.startTask({ taskType: "TAX_PREP" });
  expect((await clock.runUntil(client.tasks.waitFor(taskId))).status).toBe("COMPLETED");
  await client.me();
  await expect(fixture.world).toHaveReceivedRequest({ operation: "me" });
  await client.close();
});
test("has another world", async () => {
  expect((await fixture.world.control.listTasks()).data).toEqual([]);
});`;
  const imports = `import { worldPerTest } from "@workspace-tasks/mock-server/jest";
import { createClient } from "@workspace-tasks/sdk";`;
  const required = imports.replaceAll(/import (.*) from (.*);/g, "const $1 = require($2);");
  const program = bin("jest/bin/jest.js");
  const run = async (title, file, text, config, options = {}) => {
    write(file, text + tests);
    write("fixture.config.json", JSON.stringify({ ...config, testMatch: [`**/${file}`] }));
    const args = [...(options.flags ?? []), program, "--config", "fixture.config.json"];
    await check(`${title}, with a world per test`, process.execPath, args, /2 passed/);
  };
  await run("Jest", "fixture.test.js", required, {});
  const flags = ["--experimental-vm-modules"];
  await run("Jest with ES modules", "fixture.test.mjs", imports, { transform: {} }, { flags });
  await run("Jest with SWC", "swc.test.ts", imports, { transform: { "\\.ts$": "@swc/jest" } });
}

/** A bundle for the server, with the package beside it or inside of it. */
async function serverBundle() {
  write("server.mjs", everyProduct);
  for (const [title, noExternal] of [
    ["Vite SSR, the package outside of the bundle", false],
    ["Vite SSR, the package in the bundle", true],
  ]) {
    const folder = `ssr-${noExternal}`;
    write("vite.config.mjs", `export default { ssr: { noExternal: ${noExternal || "[]"} } };`);
    const build = ["build", "--logLevel", "error", "--ssr", "server.mjs", "--outDir", folder];
    await check(`${title}, builds`, process.execPath, [bin("vite/bin/vite.js"), ...build]);
    const [file = ""] = readdirSync(join(project, folder)).filter((name) => /\.m?js$/.test(name));
    await check(`${title}, runs`, process.execPath, [join(folder, file)], /WorkspaceUser/);
  }
}

/** The SDK in a bundle of webpack for browsers; `test/system/sdk/sdk-in-browser.test.ts` runs those of esbuild and Vite. */
async function browserBundle() {
  write("page.mjs", `export { createClient } from "@workspace-tasks/sdk";\n`);
  write(
    "webpack.mjs",
    `import webpack from "webpack";
webpack({ mode: "production", target: "web", context: import.meta.dirname, entry: "./page.mjs" }, (error, stats) => {
  if (error || stats.hasErrors()) throw error ?? new Error(stats.toString("errors-only"));
  console.log("built");
});
`,
  );
  await check("webpack for browsers, builds", process.execPath, ["webpack.mjs"], /built/);
}

/** The packages of `everyProduct` from their tarballs, and these again where they depend on each other. */
function projectFromTarballs(folder, overridden) {
  mkdirSync(join(project, folder));
  const files = Object.fromEntries([...tarballs].map(([name, file]) => [name, `file:${file}`]));
  const names = ["@workspace-tasks/sdk", "@workspace-tasks/receiver-kit", "@workspace-tasks/mock-server"];
  const dependencies = Object.fromEntries(names.map((name) => [name, files[name]]));
  write(
    `${folder}/package.json`,
    JSON.stringify({ name: folder, private: true, dependencies, ...overridden(files) }),
  );
  write(`${folder}/server.mjs`, everyProduct);
  return join(project, folder);
}

/** Yarn's Plug'n'Play: no node_modules, and only what a package declares can be imported. */
async function plugAndPlay() {
  const folder = projectFromTarballs("pnp", (resolutions) => ({ resolutions }));
  write("pnp/yarn.lock", "");
  const env = {
    ...process.env,
    YARN_ENABLE_TELEMETRY: "0",
    YARN_NODE_LINKER: "pnp",
    // With the variable CI, Yarn does not write a lock file.
    YARN_ENABLE_IMMUTABLE_INSTALLS: "0",
  };
  const yarn = ["-y", "-p", "@yarnpkg/cli-dist@4", "yarn"];
  const options = { cwd: folder, env, shell };
  await check("Yarn PnP installs", "npx", [...yarn, "install"], /Done/, options);
  await check("Yarn PnP runs", "npx", [...yarn, "node", "server.mjs"], /WorkspaceUser/, options);
}

/** pnpm: what a package does not declare is not there, and a wrong peer ends the installation. */
async function strictPeers() {
  const folder = projectFromTarballs("pnpm", (overrides) => ({ pnpm: { overrides } }));
  write("pnpm/pnpm-workspace.yaml", "");
  const options = { cwd: folder, shell };
  const flags = [
    "--strict-peer-dependencies",
    "--prefer-offline",
    "--no-frozen-lockfile",
    "--ignore-scripts",
  ];
  await check("pnpm installs", "npx", ["-y", "pnpm@10", "install", ...flags], /^/, options);
  await check("pnpm runs", process.execPath, ["server.mjs"], /WorkspaceUser/, options);
}

async function nestApplication() {
  mkdirSync(join(project, "nest"));
  write(
    "nest/main.ts",
    `import "reflect-metadata";
import { Controller, Get, Inject, Module } from "@nestjs/common";
import { NestFactory } from "@nestjs/core";
import { createMockServer } from "@workspace-tasks/mock-server";
import { createReceiver, memoryInbox } from "@workspace-tasks/receiver-kit";
import { webhookMiddleware } from "@workspace-tasks/receiver-kit/express";
import { createClient, type WorkspaceTasksClient } from "@workspace-tasks/sdk";

@Controller()
class MeController {
  constructor(@Inject("client") private readonly client: WorkspaceTasksClient) {}
  @Get("me")
  async me() {
    return { type: (await this.client.me()).__typename };
  }
}

async function main() {
  const mock = await createMockServer();
  const client = createClient({ baseUrl: mock.baseUrl, apiKey: mock.apiKey });
  @Module({ controllers: [MeController], providers: [{ provide: "client", useValue: client }] })
  class AppModule {}
  const receiver = createReceiver({ secrets: ["whsec_" + "A".repeat(43) + "="], inbox: memoryInbox() });
  const app = await NestFactory.create(AppModule, { logger: false });
  app.use("/webhooks", webhookMiddleware(receiver));
  await receiver.start();
  await app.listen(0, "127.0.0.1");
  const { status } = await fetch((await app.getUrl()) + "/webhooks", { method: "POST", body: "{}" });
  console.log(await (await fetch((await app.getUrl()) + "/me")).text(), status);
  await app.close();
  await receiver.close();
  await client.close();
  await mock.close();
}
void main();
`,
  );
  const compilerOptions = {
    module: "commonjs",
    target: "es2021",
    experimentalDecorators: true,
    emitDecoratorMetadata: true,
    strict: true,
    skipLibCheck: true,
    outDir: "nest-dist",
    types: ["node"],
  };
  write(
    "nest/tsconfig.json",
    JSON.stringify({ compilerOptions: { ...compilerOptions, outDir: "../nest-dist" } }),
  );
  await check("NestJS compiles, as CommonJS", process.execPath, [bin("typescript/bin/tsc"), "-p", "nest"]);
  await check("NestJS runs", process.execPath, ["nest-dist/main.js"], /\{"type":"WorkspaceUser"\} 400/);
}
