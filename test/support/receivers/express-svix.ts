import { createServer } from "node:http";
import express from "express";
import { Webhook } from "svix";
import { createEffects } from "./effects.ts";
import { type RunningReceiver, serveReceiver } from "./running-receiver.ts";

/**
 * Express with the `svix` package, as its documentation shows for Express: the raw body parser for JSON on
 * the route, `verify` in a try, 400 with an empty object when it throws, an empty object otherwise.
 */
export function startExpressSvix(secret: string): Promise<RunningReceiver> {
  const app = express();
  const effects = createEffects();
  app.post("/webhooks", express.raw({ type: "application/json" }), (request, response) => {
    const webhook = new Webhook(secret);
    try {
      webhook.verify(request.body, request.headers as Record<string, string>);
    } catch {
      response.status(400).json({});
      return;
    }
    effects.add(String(request.headers["webhook-id"]));
    response.json({});
  });
  app.get("/effects", (request, response) => void response.json(effects.of(String(request.query["id"]))));
  return serveReceiver(createServer(app));
}
