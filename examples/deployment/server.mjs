// A webhook receiver with health endpoints, metrics and an orderly end.

// #region server
import { createServer } from "node:http";
import { setTimeout } from "node:timers/promises";
import * as api from "@opentelemetry/api";
import { PrometheusExporter } from "@opentelemetry/exporter-prometheus";
import { MeterProvider } from "@opentelemetry/sdk-metrics";
import { createReceiver } from "@workspace-tasks/receiver-kit";
import { webhookMiddleware } from "@workspace-tasks/receiver-kit/express";
import { postgresInbox } from "@workspace-tasks/receiver-kit/postgres";
import { openTelemetry } from "@workspace-tasks/receiver-kit/telemetry";
import { createClient } from "@workspace-tasks/sdk";
import pg from "pg";

// One line instead of a stack: no secret, no database, a port in use. systemd and Kubernetes start the process again.
const cannotStart = ({ message }) => {
  console.error(`cannot start: ${message}`);
  process.exit(1);
};
process.once("uncaughtException", cannotStart);

const { DATABASE_URL, PORT = "3000", CONCURRENCY = "8", DRAIN_MS = "5000" } = process.env;
const { OPERATIONS_HOST = "127.0.0.1", OPERATIONS_PORT = "9464" } = process.env;
const concurrency = Number(CONCURRENCY);

const pool = new pg.Pool({
  connectionString: DATABASE_URL,
  max: concurrency + 6,
  connectionTimeoutMillis: 5_000,
  keepAlive: true,
});
const exporter = new PrometheusExporter({ preventServerStart: true });
api.metrics.setGlobalMeterProvider(new MeterProvider({ readers: [exporter] }));
const client = createClient({
  baseUrl: process.env.WORKSPACE_TASKS_BASE_URL ?? "",
  apiKey: process.env.WORKSPACE_TASKS_API_KEY,
  httpHostsAllowed: ["mock"], // of compose.yaml
});
const receiver = createReceiver({
  secrets: (process.env.WORKSPACE_TASKS_SIGNING_SECRET ?? "").split(","), // two during a rotation
  inbox: postgresInbox(pool, { migrate: false }), // migrate.mjs has created the tables
  concurrency,
  reconcile: { client }, // finds the tasks of before, and what deliveries have missed
  telemetry: openTelemetry(api),
});
receiver.onState("task", ({ taskId, status }) => console.log(`task ${taskId} is ${status}`));

let ready = false;
let stopping = false;
const receive = webhookMiddleware(receiver);
const server = createServer({ requestTimeout: 15_000 }, (request, response) => {
  if (stopping) response.setHeader("connection", "close"); // a proxy's connections would never be idle
  if (request.url === "/webhooks") return receive(request, response);
  return response.writeHead(404).end();
});
// On a port that strangers do not reach: numbers cost time, and say how much is received.
const operations = createServer((request, response) => {
  if (request.url === "/live") return response.end("live\n");
  if (request.url === "/ready") return response.writeHead(ready ? 200 : 503).end(`${ready}\n`);
  if (request.url === "/metrics") return exporter.getMetricsRequestHandler(request, response);
  return response.writeHead(404).end();
});

operations.listen(Number(OPERATIONS_PORT), OPERATIONS_HOST);
server.listen(Number(PORT));
await receiver.start();
process.off("uncaughtException", cannotStart);
ready = true;
console.log(`ready for webhooks on port ${PORT}`);

async function stop() {
  ready = false;
  stopping = true;
  await setTimeout(Number(DRAIN_MS)); // until the load balancer has noticed
  server.close();
  await receiver.close({ graceMs: 10_000 }); // running handlers end, other events are released
  server.closeAllConnections(); // also those on which nothing was sent
  await pool.end();
  operations.close();
  operations.closeAllConnections();
  process.disconnect?.(); // a worker of node:cluster ends, too
}
process.once("SIGTERM", stop);
process.once("SIGINT", stop);
// #endregion
