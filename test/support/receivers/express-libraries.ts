import { createServer } from "node:http";
import express, { type Response } from "express";
import { Webhook as StandardWebhook } from "standardwebhooks";
import { Webhook as SvixWebhook } from "svix";
import { type RunningReceiver, serveReceiver } from "./running-receiver.ts";

interface Documented {
  readonly verify: (body: Buffer, headers: Record<string, string>) => unknown;
  readonly accept: (response: Response) => unknown;
}

/**
 * Express with a library as its documentation suggests: the raw body parser for JSON on the route, one call of `verify` with the
 * raw body and the headers, 400 when it throws. Counting replaces the work of an application.
 */
function startExpress({ verify, accept }: Documented): Promise<RunningReceiver> {
  const app = express();
  const counts = new Map<string, number>();
  app.post("/webhooks", express.raw({ type: "application/json" }), (request, response) => {
    try {
      verify(request.body, request.headers as Record<string, string>);
    } catch {
      response.status(400).json({});
      return;
    }
    const id = String(request.headers["webhook-id"]);
    counts.set(id, (counts.get(id) ?? 0) + 1);
    accept(response);
  });
  app.get("/effects", (request, response) => {
    response.json({ count: counts.get(String(request.query["id"])) ?? 0 });
  });
  return serveReceiver(createServer(app));
}

export const startExpressStandardWebhooks = (secret: string): Promise<RunningReceiver> =>
  startExpress({
    verify: (body, headers) => new StandardWebhook(secret).verify(body, headers),
    accept: (response) => response.status(204).end(),
  });

export const startExpressSvix = (secret: string): Promise<RunningReceiver> =>
  startExpress({
    verify: (body, headers) => new SvixWebhook(secret).verify(body, headers),
    accept: (response) => response.json({}),
  });
