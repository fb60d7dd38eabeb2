// `npm run example -- NAME` runs examples/NAME.ts from the sources, and without a name lists the examples. An example
// that reads WORKSPACE_TASKS_* runs with a mock, as under `workspace-tasks mock exec`. One that reads a signing secret is
// a receiver, and the mock delivers to it.
import { spawn } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";

const folder = import.meta.dirname;
const root = join(folder, "..");
// The tests of the examples run them with the build.
const isBuilt = process.env.WORKSPACE_TASKS_EXAMPLES === "built";
const fromSources = isBuilt ? [] : ["--conditions=workspace-tasks-source"];
const typescript = ["--import", import.meta.resolve("tsx")];
// The default port of `workspace-tasks trigger`.
const documentedPort = 4010;

const [name, ...rest] = process.argv.slice(2);
if (name === undefined || name === "--help") list();
else if (/^[a-z-]+$/.test(name) && existsSync(join(folder, `${name}.ts`))) await runProgram(name, rest);
else if (/^[a-z-]+$/.test(name) && existsSync(join(folder, `${name}.test.ts`))) {
  run([join(root, "node_modules/vitest/vitest.mjs"), "run", `examples/${name}.test.ts`, ...rest], root);
} else {
  console.error(`there is no example ${JSON.stringify(name)}; npm run example lists them`);
  process.exitCode = 2;
}

function list() {
  console.log("Usage: npm run example -- <name>\n");
  for (const file of readdirSync(folder).filter((file) => file.endsWith(".ts"))) {
    const [line = ""] = readFileSync(join(folder, file), "utf8").split("\n");
    const about = line.replace("// ", "").replace(/\.$/, "");
    console.log(`  ${file.replace(/(\.test)?\.ts$/, "").padEnd(26)}${about}`);
  }
}

async function runProgram(name, args) {
  const file = join(folder, `${name}.ts`);
  const program = [...fromSources, ...typescript, file, ...args];
  const text = readFileSync(file, "utf8");
  if (!text.includes('process.env["WORKSPACE_TASKS_') || text.includes("DATABASE_URL")) {
    run(program, process.cwd());
    return;
  }
  const flags = [];
  if (text.includes("WORKSPACE_TASKS_SIGNING_SECRET")) {
    const port = await portOrAny(Number(process.env.MOCK_PORT ?? documentedPort));
    flags.push("--port", String(port));
    flags.push("--deliver-to", `http://127.0.0.1:${process.env.PORT ?? 3000}/webhooks`);
    console.log(`with a mock at http://127.0.0.1:${port}; send an event from another terminal:`);
    console.log(`  npx workspace-tasks trigger task.completed --mock http://127.0.0.1:${port}\n`);
  }
  const bin = join(root, "mock-server/tools/bin/workspace-tasks.js");
  run(
    [
      ...fromSources,
      ...(isBuilt ? [] : typescript),
      bin,
      "mock",
      "exec",
      ...flags,
      "--",
      process.execPath,
      ...program,
    ],
    process.cwd(),
  );
}

/** The port, or a free one when it is in use. */
function portOrAny(port) {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once("error", () => resolve(port === 0 ? 0 : portOrAny(0)));
    probe.listen(port, "127.0.0.1", () => {
      const { port: free } = probe.address();
      probe.close(() => resolve(free));
    });
  });
}

function run(args, cwd) {
  const child = spawn(process.execPath, args, { cwd, stdio: "inherit" });
  for (const signal of ["SIGINT", "SIGTERM"]) {
    process.on(signal, () => {
      // Ctrl-C in a terminal reaches the child as well.
      if (signal === "SIGTERM" || !process.stdin.isTTY) child.kill(signal);
    });
  }
  child.once("exit", (code, signal) => {
    process.exitCode = code ?? (signal === "SIGINT" ? 130 : 1);
  });
}
