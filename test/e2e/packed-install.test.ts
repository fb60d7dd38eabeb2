import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { blocksOf, type MarkedBlock } from "../../scripts/marked-blocks.ts";
import { freePort } from "../support/listen.ts";
import { RunningProgram } from "../support/running-program.ts";

// The packed tarball in an empty folder outside the repository, and the README from top to bottom.

const execute = promisify(execFile);
/** Runs a command without the environment variables that npm and vitest set for this process. */
const run = (file: string, args: readonly string[], options: { cwd?: string; env?: Variables } = {}) =>
  execute(file, args, { ...options, env: { ...outsideEnvironment, ...options.env } });
const quietly = ["--prefer-offline", "--no-audit", "--no-fund", "--no-progress", "--loglevel=error"];
type Variables = Readonly<Record<string, string | undefined>>;
const outsideEnvironment: Variables = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !/^npm_|VITEST|^NODE_OPTIONS$|^NODE_ENV$/.test(name)),
);
let folder: string;
let tarball: string;
let blocks: readonly MarkedBlock[];

beforeAll(async () => {
  if (!existsSync("dist/sdk/index.js")) throw new Error("dist is missing: run npm run build first");
  folder = await mkdtemp(join(tmpdir(), "workspace-tasks-newcomer-"));
  const { stdout } = await run("npm", ["pack", "--json", "--ignore-scripts", "--pack-destination", folder]);
  const parsed = JSON.parse(stdout) as { filename: string }[] | Record<string, { filename: string }>;
  const [packed] = Array.isArray(parsed) ? parsed : Object.values(parsed);
  tarball = join(folder, packed?.filename ?? "");
  blocks = blocksOf(await readFile("README.md", "utf8"));
});

afterAll(() => rm(folder, { recursive: true, force: true }));

/** The lines of the README's shell blocks, without comments. */
const shellLines = () =>
  blocks
    .filter(({ language }) => language === "sh")
    .flatMap(({ text }) => text.trim().split("\n"))
    .map((line) => line.replace(/\s+#.*/, "").trim());

const blockOf = (example: string) => {
  const block = blocks.find(({ mark }) => mark.startsWith(`examples/${example}#`));
  if (!block) throw new Error(`the README does not show ${example}`);
  return block.text;
};

async function emptyProject(name: string): Promise<string> {
  const project = join(folder, name);
  await mkdir(project);
  await writeFile(join(project, "package.json"), JSON.stringify({ name, private: true }));
  return project;
}

const install = (project: string, ...packages: string[]) =>
  run("npm", ["install", ...packages, ...quietly], { cwd: project });

/** Returns what the code prints, or its error output. */
async function evaluate(project: string, text: string, type: "module" | "commonjs" = "module") {
  const args = [`--input-type=${type}`, "-e", text];
  return run(process.execPath, args, { cwd: project }).then(
    ({ stdout }) => stdout.trim(),
    ({ stderr }: { stderr: string }) => stderr,
  );
}

describe("a project without any optional peer dependency", { timeout: 120_000 }, () => {
  let project: string;

  beforeAll(async () => {
    project = await emptyProject("bare");
    await install(project, tarball);
  }, 120_000);

  it.each([
    ["sdk", "createClient"],
    ["events", "parseEvent"],
    ["mock-server", "createMockServer"],
    ["receiver-kit", "createReceiver"],
    ["receiver-kit/audit", "auditReceiver"],
    ["receiver-kit/express", "webhookMiddleware"],
    ["receiver-kit/lambda", "lambdaHandler"],
    ["receiver-kit/postgres", "postgresInbox"],
    ["receiver-kit/rabbitmq", "rabbitmqIntake"],
    ["receiver-kit/sqlite", "sqliteInbox"],
    ["receiver-kit/telemetry", "openTelemetry"],
    ["receiver-kit/testing", "inboxChecks"],
  ])("can import and require workspace-tasks/%s", async (entry, name) => {
    const imported = `import { ${name} as it } from "workspace-tasks/${entry}"; console.log(typeof it)`;
    const required = `console.log(typeof require("workspace-tasks/${entry}").${name})`;
    expect(await evaluate(project, imported)).toBe("function");
    expect(await evaluate(project, required, "commonjs")).toBe("function");
  });

  it.each([
    ["msw", `await import("workspace-tasks/mock-server/msw")`],
    ["vitest", `await import("workspace-tasks/mock-server/vitest")`],
    [
      "libsql",
      `const { sqliteInbox } = await import("workspace-tasks/receiver-kit/sqlite");
       await sqliteInbox({ path: "a.db", driver: "libsql" }).open()`,
    ],
    [
      "better-sqlite3",
      `const { sqliteInbox } = await import("workspace-tasks/receiver-kit/sqlite");
       await sqliteInbox({ path: "a.db", driver: "better-sqlite3" }).open()`,
    ],
  ])("gets an error that names %s from a module that needs it", async (peer, text) => {
    expect(await evaluate(project, text)).toMatch(new RegExp(`package '${peer}'|npm install ${peer}`));
  });

  it("gets an error that names pg from the inbox command with a PostgreSQL URL", async () => {
    const command = ["workspace-tasks", "inbox", "stats", "--store", "postgres://127.0.0.1:1/none"];
    const failed = await run("npx", command, { cwd: project }).catch((error: { stderr: string }) => error);
    expect(failed.stderr).toMatch(/npm install pg/);
    expect(failed.stderr).not.toMatch(/\n {4}at /);
  });

  it("cannot import a file that is not exported", async () => {
    expect(await evaluate(project, 'await import("workspace-tasks/dist/sdk/index.js")')).toContain(
      "ERR_PACKAGE_PATH_NOT_EXPORTED",
    );
  });
});

describe("the README in a new project", { timeout: 180_000 }, () => {
  let project: string;
  let receiver: RunningProgram;
  let ports: { readonly mock: number; readonly receiver: number };

  beforeAll(async () => {
    project = await emptyProject("newcomer");
    ports = { mock: await freePort(), receiver: await freePort() };
    await writeFile(join(project, "first-request.mjs"), blockOf("first-request.ts"));
    await writeFile(join(project, "receiver.mjs"), blockOf("receiver-sqlite.ts"));
    await writeFile(join(project, "connection.test.ts"), blockOf("vitest-fixture.test.ts"));
    await writeFile(join(project, "msw.test.ts"), blockOf("msw.test.ts"));
  });

  afterAll(() => receiver?.[Symbol.dispose]());

  /** The line with free ports. */
  const local = (line: string) =>
    line.replace("4010", String(ports.mock)).replace("3000", String(ports.receiver));
  const npx = async (line: string) => {
    const env = { WORKSPACE_TASKS_BASE_URL: `http://127.0.0.1:${ports.mock}` };
    const { stdout } = await run("npx", local(line).split(" ").slice(1), { cwd: project, env });
    return stdout;
  };

  /** How each line is run, in order. A line of the README that is missing here fails the test. */
  const steps: Record<string, () => Promise<void>> = {
    "npm start": async () => {}, // start.test.ts
    "npm test": async () => {}, // this very run
    "npm install workspace-tasks": async () => void (await install(project, tarball)),
    "npx workspace-tasks mock exec -- node first-request.mjs": async () => {
      expect(await npx("npx workspace-tasks mock exec -- node first-request.mjs")).toMatch(/ is admin of /);
    },
    "npm install express libsql": async () => void (await install(project, "express", "libsql")),
    "npx workspace-tasks mock exec --port 4010 --deliver-to http://127.0.0.1:3000/webhooks -- node receiver.mjs":
      async () => {
        const line = `mock exec --port ${ports.mock} --deliver-to http://127.0.0.1:${ports.receiver}/webhooks`;
        const bin = join(project, "node_modules/workspace-tasks/bin/workspace-tasks.js");
        receiver = new RunningProgram([bin, ...line.split(" "), "--", "node", "receiver.mjs"], {
          cwd: project,
          env: { PORT: String(ports.receiver) },
        });
        await receiver.said(/ready for webhooks/);
      },
    "npx workspace-tasks trigger task.completed": async () => {
      expect(await npx("npx workspace-tasks trigger task.completed")).toMatch(/succeeded after 1 attempt/);
      await receiver.said(/TAX_PREP \S+ is COMPLETED/);
    },
    "npx workspace-tasks inbox list --store webhooks.db": async () => {
      const list = await npx("npx workspace-tasks inbox list --store webhooks.db");
      expect(list).toMatch(/task\.running/);
      expect(list).toMatch(/task\.completed/);
    },
  };

  it("every command of the README works as described", async () => {
    const lines = shellLines();
    expect(lines.filter((line) => !steps[line])).toEqual([]);
    expect(Object.keys(steps).filter((line) => !lines.includes(line))).toEqual([]);
    for (const line of lines) await steps[line]?.();
  });

  it("the first request compiles under strict settings", async () => {
    await writeFile(join(project, "first-request.mts"), blockOf("first-request.ts"));
    const compiler = join(process.cwd(), "node_modules/typescript/bin/tsc");
    const types = ["--typeRoots", join(process.cwd(), "node_modules/@types"), "--types", "node"];
    const settings = ["--noEmit", "--strict", "--module", "nodenext", "--target", "es2022", ...types];
    const { stdout } = await run(process.execPath, [compiler, ...settings, "first-request.mts"], {
      cwd: project,
    }).catch((error: { stdout: string }) => error);
    expect(stdout).toBe("");
  });

  it("the tests of the README pass in vitest, the one with MSW included", async () => {
    await install(project, "--save-dev", "vitest", "msw");
    const { stdout } = await run("npx", ["vitest", "run"], { cwd: project });
    expect(stdout).toMatch(/Tests .*2 passed/);
  });
});
