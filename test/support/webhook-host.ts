import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import express, { type Express } from "express";

/** A real HTTP server on a free port; closing it also ends connections that are still open. */
export class WebhookHost implements AsyncDisposable {
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
  }

  static async start(server: Server): Promise<WebhookHost> {
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return new WebhookHost(server);
  }

  /** An Express application, mounted as `mount` says. */
  static async express(mount: (app: Express) => void): Promise<WebhookHost> {
    const app = express();
    mount(app);
    return WebhookHost.start(createServer(app));
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}/webhooks`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
