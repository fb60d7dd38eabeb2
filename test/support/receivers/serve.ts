// Runs one of the receivers in its own process, so that an exception or a log of it cannot reach the tests.
// Arguments: name, secret, for the kit also an old secret. Prints one line of JSON and serves until it is ended.

import { createServer } from "node:http";
import express, { type Response } from "express";
import { Webhook as StandardWebhook } from "standardwebhooks";
import { Webhook as SvixWebhook } from "svix";
import { startKitReceiver } from "./kit-receiver.ts";
import { type ReceiverName, type RunningReceiver, serveReceiver } from "./served-receiver.ts";

const receivers: Readonly<
  Record<ReceiverName, (...secrets: [string, ...string[]]) => Promise<RunningReceiver>>
> = {
  kit: (...secrets) => startKitReceiver(secrets),
  "express-standardwebhooks": (secret) =>
    startExpress({
      verify: (body, headers) => new StandardWebhook(secret).verify(body, headers),
      accept: (response) => response.status(204).end(),
    }),
  "express-svix": (secret) =>
    startExpress({
      verify: (body, headers) => new SvixWebhook(secret).verify(body, headers),
      accept: (response) => response.json({}),
    }),
};

const [name = "", secret = "", ...oldSecrets] = process.argv.slice(2);
const start = Object.entries(receivers).find(([known]) => known === name)?.[1];
if (!start) throw new Error(`expected one of ${Object.keys(receivers).join(", ")}, got ${name}`);
const { url, observeUrl } = await start(secret, ...oldSecrets);
console.log(JSON.stringify({ url, observeUrl }));

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
