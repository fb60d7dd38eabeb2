import { Agent, request } from "node:http";
import { secretA, signDelivery } from "../../support/signed-delivery.ts";

export type DeliveryToSend = { readonly id: string; readonly body: string };

/** Sends deliveries as the service does: signed again at each attempt. */
export class DeliverySender implements Disposable {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 64 });
  readonly #timeoutMs: number;
  #port = 0;

  /** @param timeoutMs how long a response may take */
  constructor(timeoutMs = 30_000) {
    this.#timeoutMs = timeoutMs;
  }

  /** Sets the receiver's port, which changes at each restart. */
  aimAt(port: number): void {
    this.#port = port;
  }

  /** One attempt; resolves to the status, or 0 when the connection failed. */
  attempt({ id, body }: DeliveryToSend): Promise<number> {
    const delivery = signDelivery({
      id,
      body,
      timestampSeconds: Math.floor(Date.now() / 1000),
      secret: secretA,
    });
    return this.#post(delivery.headers, delivery.body);
  }

  #post(headers: Readonly<Record<string, string>>, body: Buffer): Promise<number> {
    return new Promise((resolve) => {
      const sent = request(
        {
          host: "127.0.0.1",
          port: this.#port,
          path: "/webhooks",
          method: "POST",
          agent: this.#agent,
          timeout: this.#timeoutMs,
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
