// Calls the functions of a project as AWS does: `/v1` and `/v2` are the payloads, `/base64` their encoding.
import { createServer } from "node:http";
import { buffer } from "node:stream/consumers";
import pg from "pg";

const admin = new pg.Pool({ connectionString: process.env.DATABASE_URL });
admin.on("error", () => {});
await admin.query("CREATE TABLE task_states (task_id TEXT PRIMARY KEY, status TEXT NOT NULL)");
const receive = (await import("./receive.ts")).handler;
const handle = (await import("./handle.ts")).handler;

/** Events as AWS documents them, with every field that a function receives. */
const events = {
  v1: ({ method, headersDistinct }, body) => ({
    version: "1.0",
    resource: "/webhooks",
    path: "/webhooks",
    httpMethod: method,
    headers: Object.fromEntries(
      Object.entries(headersDistinct).map(([name, values]) => [name, values.at(-1)]),
    ),
    multiValueHeaders: headersDistinct,
    queryStringParameters: null,
    requestContext: {
      httpMethod: method,
      path: "/webhooks",
      stage: "prod",
      identity: { sourceIp: "192.0.2.1" },
    },
    ...body,
  }),
  v2: ({ method, headers }, body) => ({
    version: "2.0",
    routeKey: "$default",
    rawPath: "/webhooks",
    rawQueryString: "",
    headers,
    requestContext: { http: { method, path: "/webhooks", protocol: "HTTP/1.1", sourceIp: "192.0.2.1" } },
    ...body,
  }),
};

async function route(request, [name, argument]) {
  if (events[name]) {
    const isBase64Encoded = argument === "base64";
    const body = (await buffer(request)).toString(isBase64Encoded ? "base64" : "utf8");
    return receive(events[name](request, { body, isBase64Encoded }), {});
  }
  if (name === "handle") {
    const endsAtMs = Date.now() + Number(argument);
    await handle({}, { getRemainingTimeInMillis: () => endsAtMs - Date.now() });
  } else if (name === "status") {
    const { rows } = await admin.query("SELECT status FROM task_states WHERE task_id = $1", [argument]);
    return { statusCode: 200, body: rows[0]?.status ?? "none" };
  } else if (name === "end-connections") {
    await admin.query(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()",
    );
  }
  return { statusCode: 200, body: "done" };
}

createServer(async (request, response) => {
  const [, ...path] = request.url.split("/");
  const { statusCode, headers, body } = await route(request, path).catch((error) => ({
    statusCode: 500,
    body: error.stack,
  }));
  response.writeHead(statusCode, headers).end(body);
}).listen(Number(process.env.PORT), "127.0.0.1");
