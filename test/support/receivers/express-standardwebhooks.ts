import { createServer } from "node:http";
import express from "express";
import { Webhook } from "standardwebhooks";
import { createEffects } from "./effects.ts";
import { type RunningReceiver, serveReceiver } from "./running-receiver.ts";

/**
 * Express with the public `standardwebhooks` package, as its readme suggests: one call of `verify` on the
 * raw body and the headers, 400 when it throws. Counting replaces the work of an application.
 */
export function startExpressStandardWebhooks(secret: string): Promise<RunningReceiver> {
  const app = express();
  const effects = createEffects();
  const webhook = new Webhook(secret);
  app.post("/webhooks", express.raw({ type: "application/json" }), (request, response) => {
    try {
      webhook.verify(request.body, request.headers as Record<string, string>);
    } catch {
      response.status(400).json({ error: "invalid signature" });
      return;
    }
    effects.add(String(request.headers["webhook-id"]));
    response.status(204).end();
  });
  app.get("/effects", (request, response) => void response.json(effects.of(String(request.query["id"]))));
  return serveReceiver(createServer(app));
}
