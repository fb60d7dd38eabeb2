import { createServer, type IncomingMessage } from "node:http";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type ListeningServer, listen } from "../../support/listen.ts";
import { PostgresServer } from "../../support/postgres.ts";
import { completedEvent, sampleEvent } from "../../support/sample-event.ts";
import { secretA, secretX, signDelivery } from "../../support/signed-delivery.ts";

type LambdaFunction = (event: unknown, context: object) => Promise<unknown>;
interface HttpResult {
  readonly statusCode: number;
  readonly headers: Record<string, string>;
  readonly body: string;
}

const compiled = join(import.meta.dirname, "../../../examples/frameworks/dist");
const load = async (name: string): Promise<LambdaFunction> =>
  ((await import(pathToFileURL(join(compiled, `${name}.js`)).href)) as { handler: LambdaFunction }).handler;

async function bytesOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

/** Events as AWS documents them, with every field that a function receives. */
const events: Record<string, (request: IncomingMessage, body: Buffer, base64: boolean) => object> = {
  "/v1": ({ method, url, headersDistinct }, body, isBase64Encoded) => ({
    version: "1.0",
    resource: "/webhooks",
    path: url,
    httpMethod: method,
    headers: Object.fromEntries(
      Object.entries(headersDistinct).map(([name, values]) => [name, values?.at(-1)]),
    ),
    multiValueHeaders: headersDistinct,
    queryStringParameters: null,
    requestContext: { httpMethod: method, path: url, stage: "prod", identity: { sourceIp: "192.0.2.1" } },
    body: body.toString(isBase64Encoded ? "base64" : "utf8"),
    isBase64Encoded,
  }),
  "/v2": ({ method, url, headers }, body, isBase64Encoded) => ({
    version: "2.0",
    routeKey: "$default",
    rawPath: url,
    rawQueryString: "",
    headers,
    requestContext: { http: { method, path: url, protocol: "HTTP/1.1", sourceIp: "192.0.2.1" } },
    body: body.toString(isBase64Encoded ? "base64" : "utf8"),
    isBase64Encoded,
  }),
};

describe("a receiver in AWS Lambda", () => {
  let server: PostgresServer;
  let admin: pg.Pool;
  let gateway: ListeningServer;
  let handleStored: LambdaFunction;

  beforeAll(async () => {
    server = await PostgresServer.start();
    const database = server.url();
    admin = new pg.Pool({ connectionString: database });
    admin.on("error", () => {});
    await admin.query("CREATE TABLE task_states (task_id TEXT PRIMARY KEY, status TEXT NOT NULL)");
    process.env["DATABASE_URL"] = database;
    process.env["WORKSPACE_TASKS_SIGNING_SECRET"] = secretA;
    const receive = await load("lambda-receive");
    handleStored = await load("lambda-handle");
    gateway = await listen(
      createServer(async (request, response) => {
        const [, shape = "", encoding] = /^(\/v\d)(\/base64)?/.exec(request.url ?? "") ?? [];
        const event = events[shape]?.(request, await bytesOf(request), encoding !== undefined);
        const { statusCode, headers, body } = (await receive(event, {})) as HttpResult;
        response.writeHead(statusCode, headers).end(body);
      }),
    );
  });

  afterAll(async () => {
    await gateway?.[Symbol.asyncDispose]();
    if (!admin?.ended) await admin?.end();
    await server?.[Symbol.asyncDispose]();
  });

  const deliver = async (path: string, body: string, secret = secretA) => {
    const { headers } = signDelivery({ body, timestampSeconds: Math.floor(Date.now() / 1000), secret });
    const url = `${gateway.origin}${path}/webhooks`;
    return (await fetch(url, { method: "POST", headers: { ...headers }, body })).status;
  };
  const context = (ms: number) => {
    const endsAtMs = Date.now() + ms;
    return { getRemainingTimeInMillis: () => endsAtMs - Date.now() };
  };
  const statusOf = async (taskId: unknown) =>
    (await admin.query("SELECT status FROM task_states WHERE task_id = $1", [taskId])).rows[0]?.status;

  it.each(["/v1", "/v1/base64", "/v2", "/v2/base64"])(
    "a receiver in Lambda stores a delivery of the shape %s, which the scheduled function handles once",
    async (path) => {
      const event = sampleEvent({ clientName: "Müller & Söhne" });
      const body = JSON.stringify(event, null, 2);
      expect(await deliver(path, body, secretX)).toBe(401);
      expect(await deliver(path, body)).toBe(200);
      expect(await statusOf(event["taskId"])).toBeUndefined();
      await handleStored({}, context(30_000));
      expect(await statusOf(event["taskId"])).toBe("RUNNING");
      const { occurredAt, taskId } = event;
      const later = String(occurredAt).replace("09:30", "09:31");
      const completed = completedEvent({ taskId, occurredAt: later });
      expect(await deliver(path, JSON.stringify(completed))).toBe(200);
      await handleStored({}, context(30_000));
      expect(await statusOf(taskId)).toBe("COMPLETED");
    },
  );

  it("a receiver in Lambda rejects a body over the limit", async () => {
    expect(await deliver("/v2", JSON.stringify(sampleEvent({ note: "x".repeat(1_200_000) })))).toBe(413);
  });

  it("a receiver in Lambda stores deliveries again after its connections ended while it was frozen", async () => {
    await admin.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()");
    const body = JSON.stringify(sampleEvent());
    await expect.poll(() => deliver("/v2", body), { timeout: 10_000 }).toBe(200);
  });

  it("the scheduled function ends before its time is over, and leaves the rest to the next one", async () => {
    const event = sampleEvent();
    expect(await deliver("/v2", JSON.stringify(event))).toBe(200);
    const startedAtMs = Date.now();
    await handleStored({}, context(10_000)); // less than it reserves
    expect(Date.now() - startedAtMs).toBeLessThan(10_000);
    await handleStored({}, context(30_000));
    expect(await statusOf(event["taskId"])).toBe("RUNNING");
  });

  it("a receiver in Lambda responds 503 while the database is down", async () => {
    await admin.end();
    await server.lose();
    expect(await deliver("/v2", JSON.stringify(sampleEvent()))).toBe(503);
  });
});
