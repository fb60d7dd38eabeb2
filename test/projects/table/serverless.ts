// Receivers in functions: the two of docs/recipes/serverless.md behind a gateway, and Express in the adapter for Lambda.
import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import { completedEvent, sampleEvent } from "../../support/sample-event.ts";
import { secretX } from "../../support/signed-delivery.ts";
import { initialised, installedBy, type Project, program, type Served } from "../project.ts";
import { deliver } from "../webhook-calls.ts";

const page = "docs/recipes/serverless.md";

async function storesAndHandles({ origin }: Served): Promise<void> {
  const call = async (path: string) => {
    const response = await fetch(`${origin}${path}`, { method: "POST" });
    assert.ok(response.ok, `${path}: ${await response.clone().text()}`);
    return response.text();
  };
  for (const path of ["/v1", "/v1/base64", "/v2", "/v2/base64"]) {
    const event = sampleEvent({ clientName: "Müller & Söhne" });
    const statusOf = () => call(`/status/${event["taskId"]}`);
    assert.equal(await deliver(origin + path, event, secretX), 401, path);
    assert.equal(await deliver(origin + path, event), 200, path);
    assert.equal(await statusOf(), "none");
    await call("/handle/30000");
    assert.equal(await statusOf(), "RUNNING");
    const { occurredAt, taskId } = event;
    const later = completedEvent({ taskId, occurredAt: String(occurredAt).replace("09:30", "09:31") });
    assert.equal(await deliver(origin + path, later), 200);
    await call("/handle/30000");
    assert.equal(await statusOf(), "COMPLETED");
  }
  assert.equal(await deliver(`${origin}/v2`, sampleEvent({ note: "x".repeat(1_200_000) })), 413);
  // As connections end while the function is frozen.
  await call("/end-connections");
  const afterwards = sampleEvent();
  for (let tries = 100; (await deliver(`${origin}/v2`, afterwards)) !== 200; tries--) {
    assert.ok(tries > 0, "stores deliveries again");
    await pause(100);
  }
  // With a timeout that leaves no time to handle, each run would end in silence.
  const { status } = await fetch(`${origin}/handle/10000`, { method: "POST" });
  assert.equal(status, 500);
  await call("/handle/30000");
  assert.equal(await call(`/status/${afterwards["taskId"]}`), "RUNNING");
}

const compilerOptions = {
  target: "es2023",
  module: "nodenext",
  types: ["node"],
  strict: true,
  noUncheckedIndexedAccess: true,
  exactOptionalPropertyTypes: true,
  noEmit: true,
};

/** Express in an adapter for Lambda. */
const expressIn = (of: string, argument: string): Project => ({
  part: "serverless",
  of,
  install: ["node@22", "@workspace-tasks/receiver-kit", "express", "pg", of],
  files: {
    "receive.ts": `import adapt from "${of}";
import { webhookMiddleware } from "@workspace-tasks/receiver-kit/express";
import express from "express";
${program("examples/lambda/accept.ts")
  .replace(/^import .*lambda";$/m, "")
  .replace(/\/\/ Without handlers[\s\S]*/, "")}
const app = express();
app.post("/webhooks", webhookMiddleware(receiver));
export const handler = adapt(${argument});
`,
    "handle.ts": program("examples/lambda/handle.ts"),
    "gateway.mjs": program("gateway.mjs"),
  },
  serve: "exec node gateway.mjs",
  uses: async ({ origin }) => {
    for (const path of ["/v1", "/v1/base64", "/v2", "/v2/base64"]) {
      assert.equal(await deliver(origin + path, sampleEvent(), secretX), 401, path);
      assert.equal(await deliver(origin + path, sampleEvent({ clientName: "Zoë" })), 200, path);
    }
  },
  servers: true,
});

export const serverless: readonly Project[] = [
  {
    part: "serverless",
    of: "@types/aws-lambda",
    how: "a gateway and PostgreSQL",
    install: ["node@22", "typescript", ...installedBy(page)],
    files: {
      "package.json": initialised(page),
      "receive.ts": program("examples/lambda/accept.ts"),
      "handle.ts": program("examples/lambda/handle.ts"),
      "gateway.mjs": program("gateway.mjs"),
      "tsconfig.json": JSON.stringify({ compilerOptions, include: ["*.ts"] }),
    },
    run: "tsc && echo compiled",
    prints: /compiled/,
    serve: "exec node gateway.mjs",
    uses: storesAndHandles,
    servers: true,
  },
  expressIn("@codegenie/serverless-express", "{ app }"),
  expressIn("serverless-http", "app"),
  {
    part: "serverless",
    of: "azure-function-express",
    how: "supertest, fastify.inject and HTTP/2",
    install: [
      ...["@workspace-tasks/receiver-kit", "express", "fastify"],
      ...["azure-function-express", "supertest", "standardwebhooks"],
    ],
    files: { "try.mjs": program("composed-requests.mjs") },
    run: "node try.mjs",
    prints: /stored each/,
  },
];
