import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it } from "vitest";
import { unpackPackages } from "../../../scripts/pack.ts";

// Wrong options of the packed packages, each of which has its own copy of the checks, and some of which check with schemas of
// another package.

let project: string;

beforeAll(async () => {
  project = await mkdtemp(join(tmpdir(), "workspace-tasks-options-"));
  unpackPackages(project);
}, 180_000);

afterAll(() => rm(project, { recursive: true, force: true }));

const secrets = [`whsec_${Buffer.alloc(32, 1).toString("base64")}`];
const receiverKit = "@workspace-tasks/receiver-kit";
const rabbitmq = "@workspace-tasks/receiver-rabbitmq";
const urls = ["amqp://127.0.0.1"];
const cases: readonly (readonly [module: string, call: string, expected: string])[] = [
  [rabbitmq, `rabbitmqIntake(${JSON.stringify({ urls: "amqp://127.0.0.1", secrets })})`, "rabbitmqIntake: "],
  [rabbitmq, `rabbitmqIntake(${JSON.stringify({ urls, secrets, shards: 0 })})`, "rabbitmqIntake: shards: "],
  [
    rabbitmq,
    `rabbitmqIntake(${JSON.stringify({ urls, secrets, limits: { bodyBytesMax: -1 } })})`,
    "rabbitmqIntake: limits.bodyBytesMax: ",
  ],
  [rabbitmq, `rabbitmqIntake(${JSON.stringify({ urls, secrets, source: " " })})`, "rabbitmqIntake: source: "],
  [
    rabbitmq,
    `rabbitmqIntake(${JSON.stringify({ urls, secrets, shard: 2 })})`,
    "rabbitmqIntake: unknown option",
  ],
  [rabbitmq, `rabbitmqConsumer(${JSON.stringify({ urls, receivers: [] })})`, "rabbitmqConsumer: receivers: "],
  [
    rabbitmq,
    `rabbitmqConsumer({ urls: ["amqp://127.0.0.1"], receivers: [{ accept() {} }], logger: {} })`,
    "rabbitmqConsumer: logger: ",
  ],
  [
    rabbitmq,
    `await rabbitmqConsumer({ urls: ["amqp://127.0.0.1"], receivers: [{ accept() {} }] }).close({ graceMs: -1 })`,
    "close: graceMs: ",
  ],
  [
    receiverKit,
    `createReceiver(${JSON.stringify({ secrets, inboxx: 1 })})`,
    "createReceiver: unknown option",
  ],
  [
    `${receiverKit}/express`,
    `verifyWebhook(${JSON.stringify({ secrets, tolerance: 1 })})`,
    "verifyWebhook: ",
  ],
  [`${receiverKit}/postgres`, `postgresInbox({}, { schema: 1 })`, "postgresInbox: "],
  [`${receiverKit}/sqlite`, `sqliteInbox({ path: 1 })`, "sqliteInbox: "],
  ["@workspace-tasks/sdk", `createClient({ baseUrl: "nope", apiKey: "a" })`, "createClient: "],
  ["@workspace-tasks/mock-server", `await createMockServer({ port: -1 })`, "port"],
  ["workspace-tasks/check-receiver", `await auditReceiver({ url: 1, secret: "x" })`, "auditReceiver: "],
];

it.each(cases)("%s: %s is rejected with a code and its place", async (module, call, expected) => {
  const name = /(\w+)\(/.exec(call)?.[1];
  const program = `
    const { ${name} } = await import(${JSON.stringify(module)});
    try { ${call}; console.log("no error"); } catch ({ code, message }) { console.log(JSON.stringify({ code, message })); }`;
  const args = ["--input-type=module", "-e", program];
  const { stdout } = await promisify(execFile)(process.execPath, args, {
    cwd: project,
    env: { PATH: process.env["PATH"] },
  });
  expect(JSON.parse(stdout)).toEqual({
    code: expect.stringMatching(/^[A-Z_]+_INVALID$/),
    message: expect.stringContaining(expected),
  });
});
