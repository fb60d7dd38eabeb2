import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { packPackages, unpackPackages } from "../../../scripts/pack.ts";
import { packages } from "../../../scripts/packages.ts";
import { freePort } from "../../support/listen.ts";
import { blocksOf, type MarkedBlock } from "../../support/marked-blocks.ts";
import { RunningProgram } from "../../support/running-program.ts";

// The packed tarball in an empty folder outside the repository, and the README from top to bottom. What npm would install
// are links into this repository, which takes neither time nor a network; with WORKSPACE_TASKS_INSTALL=npm, as in a gate
// of `npm run check`, npm installs it.

const usesNpm = process.env["WORKSPACE_TASKS_INSTALL"] === "npm";
const root = process.cwd();
const execute = promisify(execFile);
/** Runs a command without the environment variables that npm and vitest set for this process. */
const run = (file: string, args: readonly string[], options: { cwd?: string; env?: Variables } = {}) =>
  execute(file, args, { ...options, env: { ...outsideEnvironment, ...options.env } });
const quietly = ["--prefer-offline", "--no-audit", "--no-fund", "--no-progress", "--loglevel=error"];
type Variables = Readonly<Record<string, string | undefined>>;
const outsideEnvironment: Variables = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !/^npm_|VITEST|^NODE_OPTIONS$|^NODE_ENV$/.test(name)),
);
let project: string;
let tarballs: ReadonlyMap<string, string>;
let blocks: readonly MarkedBlock[];

beforeAll(async () => {
  if (!existsSync("sdk/dist/index.js")) throw new Error("dist is missing: run npm run build first");
  project = await mkdtemp(join(tmpdir(), "workspace-tasks-newcomer-"));
  if (usesNpm) tarballs = packPackages(project);
  else unpackPackages(project);
  await install("@workspace-tasks/sdk");
  await install("workspace-tasks");
  blocks = blocksOf(await readFile("README.md", "utf8"));
}, 180_000);

afterAll(() => rm(project, { recursive: true, force: true }));

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

/** The tarballs of the packages and of those that they depend on, as no registry has these. */
const tarballsOf = (names: readonly string[]): readonly string[] => {
  const own = packages.filter(({ name }) => names.includes(name));
  const needed = own.flatMap(({ manifest }) => Object.keys(manifest.dependencies ?? {}));
  const others = needed.filter((name) => tarballs.has(name) && !names.includes(name));
  return others.length > 0
    ? tarballsOf([...names, ...others])
    : names.map((name) => tarballs.get(name) ?? name);
};

async function install(...names: readonly string[]): Promise<void> {
  if (usesNpm) {
    await run("npm", ["install", ...tarballsOf(names), ...quietly], { cwd: project });
    return;
  }
  const modules = join(project, "node_modules");
  await mkdir(join(modules, ".bin"), { recursive: true });
  for (const name of names) {
    const path = join(modules, name);
    if (!existsSync(path)) await symlink(join(root, "node_modules", name), path, "junction");
    const { bin = {} } = JSON.parse(await readFile(join(path, "package.json"), "utf8"));
    for (const [command, file] of Object.entries<string>(typeof bin === "string" ? { [name]: bin } : bin))
      await symlink(join(path, file), join(modules, ".bin", command)).catch(ignoreExisting);
  }
}

const ignoreExisting = (error: NodeJS.ErrnoException) => {
  if (error.code !== "EEXIST") throw error;
};

/** A command of an installed package, as `npx` runs it. */
const runInstalled = (command: string, args: readonly string[], env: Variables = {}) =>
  usesNpm
    ? run("npx", [command, ...args], { cwd: project, env })
    : run(process.execPath, [join(project, "node_modules/.bin", command), ...args], { cwd: project, env });

/** Returns what the code prints, or its error output. */
async function evaluate(text: string) {
  const args = ["--input-type=module", "-e", text];
  return run(process.execPath, args, { cwd: project }).then(
    ({ stdout }) => stdout.trim(),
    ({ stderr }: { stderr: string }) => stderr,
  );
}

describe("a project without any optional peer dependency", { timeout: 120_000 }, () => {
  const entries = [
    ["@workspace-tasks/sdk", "createClient"],
    ["@workspace-tasks/events", "parseEvent"],
    ["@workspace-tasks/mock-server", "createMockServer"],
    ["@workspace-tasks/receiver-kit", "createReceiver"],
    ["@workspace-tasks/receiver-kit/express", "webhookMiddleware"],
    ["@workspace-tasks/receiver-kit/lambda", "lambdaHandler"],
    ["@workspace-tasks/receiver-kit/postgres", "postgresInbox"],
    ["@workspace-tasks/receiver-kit/sqlite", "sqliteInbox"],
    ["@workspace-tasks/receiver-kit/telemetry", "openTelemetry"],
    ["@workspace-tasks/receiver-rabbitmq", "rabbitmqIntake"],
    ["workspace-tasks/check-receiver", "auditReceiver"],
  ] as const;

  beforeAll(() => install("@workspace-tasks/receiver-kit", "@workspace-tasks/receiver-rabbitmq"));

  it("every entry point can be imported without any optional peer dependency", async () => {
    const lines = entries.map(([entry, name]) => `console.log(typeof (await import("${entry}")).${name});`);
    expect((await evaluate(lines.join("\n"))).split("\n")).toEqual(entries.map(() => "function"));
  });

  it.each([
    ["msw", `await import("@workspace-tasks/mock-server/msw")`],
    ["vitest", `await import("@workspace-tasks/mock-server/vitest")`],
    [
      "libsql",
      `const { sqliteInbox } = await import("@workspace-tasks/receiver-kit/sqlite");
       await sqliteInbox({ path: "a.db", driver: "libsql" }).open()`,
    ],
    [
      "better-sqlite3",
      `const { sqliteInbox } = await import("@workspace-tasks/receiver-kit/sqlite");
       await sqliteInbox({ path: "a.db", driver: "better-sqlite3" }).open()`,
    ],
  ])("a module that needs %s says so when it is missing", async (peer, text) => {
    expect(await evaluate(text)).toMatch(new RegExp(`package '${peer}'|npm install ${peer}`));
  });

  it("the inbox command with a PostgreSQL URL says that pg is missing", async () => {
    const words = ["stats", "--store", "postgres://127.0.0.1:1/none"];
    const failed = await runInstalled("workspace-tasks-inbox", words).catch(
      (error: { stderr: string }) => error,
    );
    expect(failed.stderr).toMatch(/npm install pg/);
    expect(failed.stderr).not.toMatch(/\n {4}at /);
  });

  it("an intake says once how to install amqplib when it is missing", async () => {
    const text = `const { rabbitmqIntake } = await import("@workspace-tasks/receiver-rabbitmq");
      const secrets = ["whsec_" + Buffer.alloc(24, 1).toString("base64")];
      rabbitmqIntake({ urls: ["amqp://127.0.0.1:1"], secrets }).start();`;
    const output = await evaluate(text);
    expect(output.match(/amqplib.*/g)).toEqual(["amqplib is not installed; try: npm install amqplib"]);
  });
});

describe("the README in a new project", { timeout: 180_000 }, () => {
  let receiver: RunningProgram;
  let ports: { readonly mock: number; readonly receiver: number };

  beforeAll(async () => {
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
    const [, command = "", ...args] = local(line).split(" ");
    return (await runInstalled(command, args, env)).stdout;
  };

  /** How each line is run, in order. A line of the README that is missing here fails the test. */
  const steps: Record<string, () => Promise<void>> = {
    "npm start": async () => {}, // start.test.ts
    "npm test": async () => {}, // this very run
    "npm install @workspace-tasks/sdk": async () => {}, // before all tests
    "npm install --save-dev workspace-tasks": async () => {},
    "npx workspace-tasks mock exec -- node first-request.mjs": async () => {
      expect(await npx("npx workspace-tasks mock exec -- node first-request.mjs")).toMatch(/ is admin of /);
    },
    "npm install @workspace-tasks/receiver-kit express libsql": () =>
      install("@workspace-tasks/receiver-kit", "express", "libsql"),
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
    "npx workspace-tasks-inbox list --store webhooks.db": async () => {
      const list = await npx("npx workspace-tasks-inbox list --store webhooks.db");
      expect(list).toMatch(/task\.running/);
      expect(list).toMatch(/task\.completed/);
    },
    "npm install --save-dev @workspace-tasks/mock-server vitest msw": () =>
      install("@workspace-tasks/mock-server", "vitest", "msw"),
  };

  it("every command of the README works as described", async () => {
    const lines = shellLines();
    expect(lines.filter((line) => !steps[line])).toEqual([]);
    expect(Object.keys(steps).filter((line) => !lines.includes(line))).toEqual([]);
    for (const line of lines) await steps[line]?.();
  });

  it("the tests of the README pass in vitest, the one with MSW included", async () => {
    await steps["npm install --save-dev @workspace-tasks/mock-server vitest msw"]?.();
    const { stdout } = await runInstalled("vitest", ["run"]);
    expect(stdout).toMatch(/Tests .*2 passed/);
  });
});
