// The packed tarballs in an empty folder outside the repository, without any optional peer. test/projects has the peers.
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { unpackPackages } from "../../../scripts/pack.ts";

let project: string;
let folders: ReadonlyMap<string, string>;

beforeAll(async () => {
  if (!existsSync("sdk/dist/index.js")) throw new Error("dist is missing: run npm run build first");
  project = await mkdtemp(join(tmpdir(), "workspace-tasks-without-peers-"));
  folders = unpackPackages(project);
}, 180_000);

afterAll(() => rm(project, { recursive: true, force: true }));

/** What a program prints, on both streams. */
const run = (...args: readonly string[]) =>
  new Promise<string>((resolve) => {
    execFile(process.execPath, args, { cwd: project }, (_, out, err) => resolve(out + err));
  });
const evaluate = (text: string) => run("--input-type=module", "-e", text);

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

it("every entry point can be imported without any optional peer dependency", async () => {
  const lines = entries.map(([entry, name]) => `console.log(typeof (await import("${entry}")).${name});`);
  expect((await evaluate(lines.join("\n"))).trim().split("\n")).toEqual(entries.map(() => "function"));
});

const inbox = (driver: string) => `
  const { sqliteInbox } = await import("@workspace-tasks/receiver-kit/sqlite");
  await sqliteInbox({ path: "a.db", driver: "${driver}" }).open()`;

it.each([
  ["msw", `await import("@workspace-tasks/mock-server/msw")`],
  ["vitest", `await import("@workspace-tasks/mock-server/vitest")`],
  ["libsql", inbox("libsql")],
  ["better-sqlite3", inbox("better-sqlite3")],
])("a module that needs %s says so when it is missing", async (peer, text) => {
  expect(await evaluate(text)).toMatch(new RegExp(`package '${peer}'|npm install ${peer}`));
});

it("the inbox command with a PostgreSQL URL says that pg is missing", async () => {
  const bin = join(folders.get("@workspace-tasks/receiver-kit") ?? "", "bin/workspace-tasks-inbox.js");
  const output = await run(bin, "stats", "--store", "postgres://127.0.0.1:1/none");
  expect(output).toMatch(/npm install pg/);
  expect(output).not.toMatch(/\n {4}at /);
});

it("an intake says once how to install amqplib when it is missing", async () => {
  const output = await evaluate(`
    const { rabbitmqIntake } = await import("@workspace-tasks/receiver-rabbitmq");
    const secrets = ["whsec_" + Buffer.alloc(24, 1).toString("base64")];
    rabbitmqIntake({ urls: ["amqp://127.0.0.1:1"], secrets }).start();`);
  expect(output.match(/amqplib.*/g)).toEqual(["amqplib is not installed; try: npm install amqplib"]);
});
