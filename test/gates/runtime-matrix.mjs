// The sources pass their tests on the Node of this machine; what users get is the tarball on the runtime of theirs.
// This packs the build, unpacks it in an empty project without the optional peers, and takes the same walk through the
// SDK on each runtime that is asked for, with `import`, with `require`, and with `require` of the CommonJS build:
//
//   node --import tsx test/gates/runtime-matrix.mjs [current] [node@22] [node@24] [bun] [deno] [workerd]    default: all of them
//   --json prints the report as JSON, with the modules that were loaded
//
// Needs a build. All but `current` come from the npm registry, where each is a package with the runtime's binary.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { rolldown } from "rolldown";
import { capture } from "../../scripts/capture.mjs";
import { unpackPackages } from "../../scripts/pack.ts";

const root = join(import.meta.dirname, "../..");
const json = process.argv.includes("--json");
const asked = process.argv.slice(2).filter((argument) => argument !== "--json");
const runtimes = asked.length > 0 ? asked : ["current", "node@22", "node@24", "bun", "deno", "workerd"];
const walkTimeoutMs = 300_000;
const shell = process.platform === "win32";

const project = mkdtempSync(join(tmpdir(), "workspace-tasks-packed-"));
try {
  unpackPackages(project);
  cpSync(join(root, "test/gates/packed-sdk"), project, { recursive: true });
  const { createMockServer } = await import(pathToFileURL(join(root, "mock-server/dist/index.js")).href);
  const report = [];
  for (const runtime of runtimes) {
    for (const { entry, run } of walksOn(runtime)) {
      const mock = await createMockServer();
      const { baseUrl, gatewayUrl, apiKey, partnerApiKey } = mock;
      const result = await run({
        BASE_URL: baseUrl,
        GATEWAY_URL: gatewayUrl,
        API_KEY: apiKey,
        PARTNER_API_KEY: partnerApiKey,
      });
      await mock.close();
      report.push({ runtime, entry, ...result });
      if (!json) console.log(`${result.ok ? "✓" : "✗"} ${runtime} ${entry}: ${result.output.trim()}`);
    }
  }
  if (json) console.log(JSON.stringify(report));
  if (report.some(({ ok }) => !ok)) process.exitCode = 1;
} finally {
  rmSync(project, { recursive: true, force: true });
}

function walksOn(runtime) {
  if (runtime === "workerd") return [{ entry: "worker.mjs", run: walkInWorkerd }];
  const isNode = runtime === "current" || runtime.startsWith("node@");
  const program =
    runtime === "current"
      ? [process.execPath]
      : ["npx", "-y", runtime, ...(runtime === "deno" ? ["run", "-A"] : [])];
  const walks = ["with-import.mjs", "with-require.cjs"].map((entry) => ({
    entry,
    run: (env) => walk([...program, ...(isNode ? moduleLog() : []), join(project, entry)], env),
  }));
  if (!isNode) return walks;
  // Node resolves the condition `module-sync`, and with it the ES module, only where it can require one.
  const withoutEsm = [
    ...program,
    ...moduleLog(),
    "--no-experimental-require-module",
    join(project, "with-require.cjs"),
  ];
  return [...walks, { entry: "with-require.cjs, CommonJS", run: (env) => walk(withoutEsm, env) }];
}

function moduleLog() {
  return ["--import", pathToFileURL(join(project, "module-log.mjs")).href];
}

async function walk([command, ...args], env) {
  const log = join(project, "modules.log");
  writeFileSync(log, "");
  const { code, stdout, output } = await capture(command, args, {
    cwd: project,
    env: { ...process.env, MODULE_LOG: log, ...env },
    timeout: walkTimeoutMs,
    shell: shell && command === "npx",
  });
  const modules = [...new Set(readFileSync(log, "utf8").split("\n").filter(Boolean))];
  const ok = code === 0;
  return { ok, output: ok ? stdout : `${output}ended with ${code}`, modules };
}

async function walkInWorkerd(env) {
  const bundle = await rolldown({
    cwd: project,
    input: "worker.mjs",
    platform: "node",
    external: /^node:/,
    resolve: { conditionNames: ["workerd", "import", "default"] },
  });
  await bundle.write({ file: join(project, "worker.bundle.mjs"), codeSplitting: false });
  const port = await freePort();
  const bindings = Object.entries(env).map(([name, text]) => `(name = "${name}", text = "${text}")`);
  writeFileSync(
    join(project, "worker.capnp"),
    `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "main", worker = .worker),
    (name = "internet", network = (allow = ["public", "private"])),
  ],
  sockets = [(name = "http", address = "127.0.0.1:${port}", http = (), service = "main")],
);
const worker :Workerd.Worker = (
  modules = [(name = "worker", esModule = embed "worker.bundle.mjs")],
  compatibilityDate = "2025-06-01",
  compatibilityFlags = ["nodejs_compat"],
  bindings = [${bindings.join(", ")}],
);
`,
  );
  const args = ["-y", "workerd", "serve", join(project, "worker.capnp")];
  // A process group of its own: npx does not pass a signal on to its child.
  const child = spawn("npx", args, { cwd: project, stdio: "inherit", detached: true });
  try {
    const response = await responseOf(`http://127.0.0.1:${port}/`, child);
    return { ok: response.ok, output: await response.text(), modules: [] };
  } catch (error) {
    return { ok: false, output: String(error), modules: [] };
  } finally {
    if (child.exitCode === null) process.kill(-child.pid);
  }
}

/** The response of a server that may still be starting. */
async function responseOf(url, child) {
  const endsAt = performance.now() + walkTimeoutMs;
  while (performance.now() < endsAt && child.exitCode === null) {
    const response = await fetch(url).catch(() => undefined);
    if (response) return response;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  throw new Error(`workerd did not serve the worker (exit code ${child.exitCode})`);
}

async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  server.close();
  return port;
}
