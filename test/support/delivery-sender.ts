import { Agent, request } from "node:http";
import { secretA, signDelivery } from "./signed-delivery.ts";

export type DeliveryToSend = { readonly id: string; readonly body: string };

/**
 * Sends deliveries as the service does: signed again at each attempt, several at a time, and retried until they are
 * acknowledged.
 */
export class DeliverySender implements Disposable {
  readonly acknowledged = new Set<string>();
  /** Number of responses by status other than 200; `0` stands for no response. */
  readonly rejections = new Map<number, number>();
  attempts = 0;
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
  async attempt({ id, body }: DeliveryToSend): Promise<number> {
    this.attempts += 1;
    const delivery = signDelivery({
      id,
      body,
      timestampSeconds: Math.floor(Date.now() / 1000),
      secret: secretA,
    });
    const status = await this.#post(delivery.headers, delivery.body);
    if (status === 200) this.acknowledged.add(id);
    else this.rejections.set(status, (this.rejections.get(status) ?? 0) + 1);
    return status;
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

  /** Attempts each delivery once, `atOnce` at a time, until `stop` returns true. */
  async sweep(
    deliveries: readonly DeliveryToSend[],
    atOnce: number,
    stop: () => boolean = () => false,
  ): Promise<void> {
    const queue = deliveries.values();
    const worker = async () => {
      for (const delivery of queue) {
        if (stop()) return;
        await this.attempt(delivery);
      }
    };
    await Promise.all(Array.from({ length: atOnce }, worker));
  }

  /** Attempts the deliveries until each is acknowledged. */
  async sendAll(deliveries: readonly DeliveryToSend[], atOnce: number): Promise<void> {
    const missing = () => deliveries.filter(({ id }) => !this.acknowledged.has(id));
    for (let left = missing(); left.length > 0; left = missing()) await this.sweep(left, atOnce);
  }

  [Symbol.dispose](): void {
    this.#agent.destroy();
  }
}
