import { createServer } from "node:http";
import type { Express } from "express";
import express from "express";
import { type ListeningServer, listen } from "./listen.ts";

/** An Express application on a free port. */
export function serveExpress(mount: (app: Express) => void): Promise<ListeningServer> {
  const app = express();
  mount(app);
  return listen(createServer(app));
}
