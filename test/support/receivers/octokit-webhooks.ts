import { createServer, type RequestListener } from "node:http";
import { createNodeMiddleware, Webhooks } from "@octokit/webhooks";
import express from "express";
import { createEffects, type Effects } from "./effects.ts";
import { type RunningReceiver, serveReceiver } from "./running-receiver.ts";

const path = "/api/github/webhooks";
const quiet = { debug() {}, info() {}, warn() {}, error() {} };

/** Node's server with octokit's middleware, as its readme suggests, signed by the `github` scheme. */
export function startOctokit(secret: string): Promise<RunningReceiver> {
  const effects = createEffects();
  const middleware = octokitMiddleware(secret, effects);
  const server = createServer((request, response) => {
    if (respondWithEffects(effects, request.url ?? "", response)) return;
    void middleware(request, response, () => void response.writeHead(404).end());
  });
  return serveReceiver(server, path);
}

/** The same middleware in an Express application that parses JSON for all its routes: an easy mistake. */
export function startOctokitBehindJsonParser(secret: string): Promise<RunningReceiver> {
  const effects = createEffects();
  const app = express();
  app.use(express.json());
  app.use(octokitMiddleware(secret, effects, 150));
  app.use((request, response) => {
    if (!respondWithEffects(effects, request.url, response)) response.status(404).end();
  });
  return serveReceiver(createServer(app), path);
}

function octokitMiddleware(secret: string, effects: Effects, timeoutMs?: number) {
  const webhooks = new Webhooks({ secret, log: quiet });
  webhooks.onAny(({ id }) => effects.add(id));
  const timeout = timeoutMs === undefined ? {} : { timeout: timeoutMs };
  return createNodeMiddleware(webhooks, { path, log: quiet, ...timeout });
}

function respondWithEffects(
  effects: Effects,
  url: string,
  response: Parameters<RequestListener>[1],
): boolean {
  const { pathname, searchParams } = new URL(url, "http://localhost");
  if (pathname !== "/effects") return false;
  response.setHeader("content-type", "application/json");
  response.end(JSON.stringify(effects.of(searchParams.get("id") ?? "")));
  return true;
}
