import { createServer } from "node:http";
import express, { type Response } from "express";
import { Webhook as StandardWebhook } from "standardwebhooks";
import { Webhook as SvixWebhook } from "svix";
import { createEffects } from "./effects.ts";
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
  const effects = createEffects();
  app.post("/webhooks", express.raw({ type: "application/json" }), (request, response) => {
    try {
      verify(request.body, request.headers as Record<string, string>);
    } catch {
      response.status(400).json({});
      return;
    }
    effects.add(String(request.headers["webhook-id"]));
    accept(response);
  });
  app.get("/effects", (request, response) => void response.json(effects.of(String(request.query["id"]))));
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
