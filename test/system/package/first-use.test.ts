// The packed packages as their user has them first: without any optional peer, and with wrong options. test/projects has the peers.
import { join } from "node:path";
import { expect, it } from "vitest";
import { PackedProject } from "./packed-project.ts";

const project = new PackedProject();
const evaluate = (text: string) => project.evaluate(text);

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
  const bin = join(project.folderOf("@workspace-tasks/receiver-kit"), "bin/workspace-tasks-inbox.js");
  const { output } = await project.run(bin, "stats", "--store", "postgres://127.0.0.1:1/none");
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

// The packages of RabbitMQ check with schemas of the receiver kit, whose copy of the checks is another one.
const secrets = [`whsec_${Buffer.alloc(32, 1).toString("base64")}`];
const urls = ["amqp://127.0.0.1"];
const cases: readonly (readonly [call: string, expected: string])[] = [
  [`rabbitmqIntake(${JSON.stringify({ urls: "amqp://127.0.0.1", secrets })})`, "rabbitmqIntake: "],
  [`rabbitmqIntake(${JSON.stringify({ urls, secrets, shards: 0 })})`, "rabbitmqIntake: shards: "],
  [
    `rabbitmqIntake(${JSON.stringify({ urls, secrets, limits: { bodyBytesMax: -1 } })})`,
    "rabbitmqIntake: limits.bodyBytesMax: ",
  ],
  [`rabbitmqIntake(${JSON.stringify({ urls, secrets, source: " " })})`, "rabbitmqIntake: source: "],
  [`rabbitmqIntake(${JSON.stringify({ urls, secrets, shard: 2 })})`, "rabbitmqIntake: unknown option"],
  [`rabbitmqConsumer(${JSON.stringify({ urls, receivers: [] })})`, "rabbitmqConsumer: receivers: "],
  [
    `rabbitmqConsumer({ urls: ["amqp://127.0.0.1"], receivers: [{ accept() {} }], logger: {} })`,
    "rabbitmqConsumer: logger: ",
  ],
  [
    `await rabbitmqConsumer({ urls: ["amqp://127.0.0.1"], receivers: [{ accept() {} }] }).close({ graceMs: -1 })`,
    "close: graceMs: ",
  ],
];

it.each(cases)("%s is rejected with a code and its place", async (call, expected) => {
  const name = /(\w+)\(/.exec(call)?.[1];
  const program = `
    const { ${name} } = await import("@workspace-tasks/receiver-rabbitmq");
    try { ${call}; console.log("no error"); } catch ({ code, message }) { console.log(JSON.stringify({ code, message })); }`;
  expect(JSON.parse(await evaluate(program))).toEqual({
    code: expect.stringMatching(/^[A-Z_]+_INVALID$/),
    message: expect.stringContaining(expected),
  });
});
