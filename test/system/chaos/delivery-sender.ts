import { Agent, request } from "node:http";
import { signDelivery } from "../../support/signed-delivery.ts";

/** The service does not wait without a limit either. */
const responseTimeoutMs = 5_000;

export type DeliveryToSend = { readonly id: string; readonly body: string };

/** Sends deliveries as the service does: signed again at each attempt. */
export class DeliverySender implements Disposable {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 64 });

  /** One attempt at a receiver's port; resolves to the status, or 0 when the connection failed or no response came in time. */
  attempt(port: number, { id, body: text }: DeliveryToSend): Promise<number> {
    const timestampSeconds = Math.floor(Date.now() / 1000);
    const { headers, body } = signDelivery({ id, body: text, timestampSeconds });
    return new Promise((resolve) => {
      const sent = request(
        {
          host: "127.0.0.1",
          port,
          path: "/webhooks",
          method: "POST",
          agent: this.#agent,
          timeout: responseTimeoutMs,
          headers: { ...headers, "content-type": "application/json", "content-length": body.byteLength },
        },
        (response) => {
          response.resume();
          response.on("end", () => resolve(response.statusCode ?? 0));
          response.on("error", () => resolve(0));
        },
      );
      sent.on("timeout", () => sent.destroy());
      sent.on("error", () => resolve(0));
      sent.end(body);
    });
  }

  [Symbol.dispose](): void {
    this.#agent.destroy();
  }
}
