import { mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { freePort } from "../../support/listen.ts";
import { RunningProgram } from "../../support/running-program.ts";
import { sampleEvent } from "../../support/sample-event.ts";
import { secretA, secretX, signDelivery } from "../../support/signed-delivery.ts";

const recipes = join(import.meta.dirname, "../../../examples/frameworks");
const compiled = (name: string) => [join(recipes, `dist/${name}.js`)];

/** Arguments of node for each recipe. `next build` and `tsc` have run. */
const servers: Record<string, (port: number) => readonly string[]> = {
  "Express 5": () => compiled("express"),
  "Express 5 after a body parser": () => compiled("express-parsed"),
  "Express 4": () => compiled("express-4"),
  "Express 4 after a body parser": () => compiled("express-parsed-4"),
  Fastify: () => compiled("fastify"),
  Koa: () => compiled("koa"),
  NestJS: () => compiled("nest"),
  "NestJS with a controller": () => compiled("nest-raw-body"),
  Hono: () => compiled("hono"),
  "node:http": () => compiled("node-http"),
  "Next.js": (port) => [
    join(recipes, "node_modules/next/dist/bin/next"),
    ...["start", join(recipes, "next"), "--port", String(port)],
  ],
};

interface Response {
  readonly status: number;
  readonly body: string;
}

/** Sends a request on a connection of its own. Resolves with the response, also when it comes before the end of the body. */
function post(port: number, path: string, headers: object, body: string | Buffer): Promise<Response> {
  return new Promise((resolve, reject) => {
    const sent = request(
      { host: "127.0.0.1", port, path, method: "POST", agent: false, headers: { ...headers } },
      (response) => {
        let text = "";
        response.setEncoding("utf8").on("data", (chunk: string) => {
          text += chunk;
        });
        response.on("end", () => resolve({ status: response.statusCode ?? 0, body: text }));
        response.on("error", reject);
      },
    );
    sent.on("error", reject);
    sent.end(body);
  });
}

const nowSeconds = () => Math.floor(Date.now() / 1000);

let folder: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "workspace-tasks-frameworks-"));
  for (const name of ["express", "express-parsed"]) {
    const text = await readFile(join(recipes, `dist/${name}.js`), "utf8");
    expect(text).toContain('from "express"');
    writeFileSync(join(recipes, `dist/${name}-4.js`), text.replace('from "express"', 'from "express4"'));
  }
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe.each(Object.entries(servers))("a receiver in %s", (name, argsOf) => {
  let program: RunningProgram;
  let port: number;
  let inbox: string;

  const deliver = (body: string, secret = secretA, headers: object = {}) => {
    const signed = signDelivery({ body, timestampSeconds: nowSeconds(), secret });
    const json = { "content-type": "application/json" };
    return post(port, "/webhooks", { ...json, ...signed.headers, ...headers }, signed.body);
  };

  beforeAll(async () => {
    port = await freePort();
    inbox = join(folder, `${name.replaceAll(/\W/g, "-")}.db`);
    program = new RunningProgram(argsOf(port), {
      cwd: folder,
      env: {
        PORT: String(port),
        INBOX_FILE: inbox,
        WORKSPACE_TASKS_SIGNING_SECRET: secretA,
        NEXT_TELEMETRY_DISABLED: "1",
        NODE_ENV: "production",
      },
    });
    await program.said(/^\W*ready/im);
  });

  afterAll(() => program?.[Symbol.dispose]());

  it("a receiver in a framework acknowledges a signed delivery and its duplicate, and handles it once", async () => {
    // Parsed and written again, this body has other bytes.
    const event = sampleEvent({ clientName: "Müller & Söhne", amount: "1.0" });
    const body = JSON.stringify(event, null, 3).replace('"1.0"', "1.0");
    const signed = signDelivery({ body, timestampSeconds: nowSeconds() });
    const headers = { ...signed.headers, "content-type": "application/json" };
    const first = await post(port, "/webhooks", headers, signed.body);
    expect(first).toEqual({ status: 200, body: '{"received":true}' });
    await program.said(new RegExp(`task ${event["taskId"]} is RUNNING`));
    const again = await post(port, "/webhooks", headers, signed.body);
    expect(again.status).toBe(200);
    // A later delivery is handled after a second run of the first would have been.
    const later = sampleEvent();
    expect((await deliver(JSON.stringify(later))).status).toBe(200);
    await program.said(new RegExp(`task ${later["taskId"]} is RUNNING`));
    const output = (await program.said(/[\s\S]*/))[0];
    expect(output.split(`task ${event["taskId"]}`)).toHaveLength(2);
  });

  it("a receiver in a framework accepts a delivery of any content type", async () => {
    for (const type of ["application/cloudevents+json", "text/plain", "application/x-www-form-urlencoded"]) {
      const event = JSON.stringify(sampleEvent());
      // A parser for JSON leaves other types to the receiver.
      expect((await deliver(event, secretA, { "content-type": type })).status, type).toBe(200);
    }
  });

  it("a receiver in a framework rejects a wrong signature with 401", async () => {
    expect((await deliver(JSON.stringify(sampleEvent()), secretX)).status).toBe(401);
  });

  it("a receiver in a framework rejects a body over the limit with 413", async () => {
    const response = await deliver(JSON.stringify(sampleEvent({ note: "x".repeat(1_200_000) })));
    expect(response.status).toBe(413);
  });

  // node:http has no body parser.
  if (name !== "node:http") {
    it("a receiver in a framework leaves the body parser of other routes as it was", async () => {
      const body = { text: "Zoë", list: [1, 2] };
      const json = { "content-type": "application/json" };
      const response = await post(port, "/echo", json, JSON.stringify(body));
      expect(JSON.parse(response.body)).toEqual(body);
    });
  }

  it("a receiver in a framework responds 503 while its store fails, and stores the next attempt after that", async () => {
    const event = JSON.stringify(sampleEvent());
    renameSync(inbox, `${inbox}.away`);
    expect((await deliver(event)).status).toBe(503);
    renameSync(`${inbox}.away`, inbox);
    await expect.poll(async () => (await deliver(event)).status, { timeout: 10_000 }).toBe(200);
  });

  it("a receiver in a framework ends on SIGTERM", async () => {
    program.signal("SIGTERM");
    const { code } = await program.ended();
    // NestJS sends itself the signal again after its hooks; Next.js has a handler of its own.
    expect(/^Ne(st|xt)/.test(name) ? [0, 143, null] : [0]).toContain(code);
  });
});
