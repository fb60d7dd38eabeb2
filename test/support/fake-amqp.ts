import type * as amqp from "../../receiver-kit/rabbitmq/amqp.ts";

export interface FakePublish {
  readonly exchange: string;
  readonly key: string;
  readonly body: Buffer;
  readonly options: amqp.AmqpPublishOptions;
  /** Confirms with `null`, rejects with an error. May be called any number of times. */
  confirm(error?: unknown): void;
  /** What a broker sends before the confirm of a message that no queue takes. */
  giveBack(): void;
}

type Listener = (...values: never[]) => void;

class Listeners {
  readonly #listeners = new Map<string, Listener[]>();
  on = (event: string, listener: Listener) => {
    this.#listeners.set(event, [...(this.#listeners.get(event) ?? []), listener]);
  };
  emit(event: string, ...values: unknown[]): void {
    for (const listener of this.#listeners.get(event) ?? [])
      (listener as (...all: unknown[]) => void)(...values);
  }
}

/** A queue's consumer on a fake channel. */
export interface FakeConsumer {
  readonly queue: string;
  deliver(message: amqp.AmqpMessage | null): void;
}

export class FakeConnection implements amqp.AmqpConnection {
  readonly url: string;
  readonly publishes: FakePublish[] = [];
  readonly consumers: FakeConsumer[] = [];
  readonly acknowledged: { readonly tag: number; readonly allUpTo: boolean }[] = [];
  readonly #listeners = new Listeners();
  readonly #requests: (name: string) => Promise<void>;
  closedChannels = 0;
  isDestroyed = false;

  constructor(url: string, requests: (name: string) => Promise<void>) {
    this.url = url;
    this.#requests = requests;
  }

  on = this.#listeners.on;
  emit(event: "error" | "close" | "blocked" | "unblocked", value?: unknown): void {
    this.#listeners.emit(event, value);
  }

  async close(): Promise<void> {
    await this.#requests("close");
  }

  destroy(): void {
    this.isDestroyed = true;
  }

  async createConfirmChannel(): Promise<amqp.AmqpChannel> {
    await this.#requests("channel");
    const listeners = new Listeners();
    const request = async (name: string) => {
      await this.#requests(name);
      return { messageCount: 0, consumerCount: 0 };
    };
    return {
      assertExchange: (name) => request(`exchange ${name}`),
      checkExchange: (name) => request(`exchange ${name}`),
      assertQueue: (name) => request(`queue ${name}`),
      bindQueue: () => request("bind"),
      prefetch: () => request("prefetch"),
      cancel: () => request("cancel"),
      consume: async (queue, onMessage) => {
        await request("consume");
        this.consumers.push({ queue, deliver: onMessage });
        return { consumerTag: queue };
      },
      publish: (exchange, key, body, options, onConfirm) => {
        const giveBack = () => {
          const { correlationId } = options;
          listeners.emit("return", { properties: { correlationId } });
        };
        const confirm = (error: unknown = null) => onConfirm(error);
        this.publishes.push({ exchange, key, body, options, confirm, giveBack });
        return true;
      },
      ack: ({ fields }, allUpTo) => this.acknowledged.push({ tag: fields.deliveryTag, allUpTo }),
      close: async () => {
        this.closedChannels += 1;
        listeners.emit("close");
      },
      on: listeners.on,
    };
  }
}

/** Connections of which a test decides what they do. */
export class FakeAmqp {
  readonly connections: FakeConnection[] = [];
  /** URLs in the order in which they were tried. */
  readonly tried: string[] = [];
  /** Called before a connection opens. */
  onConnect: (url: string) => Promise<void> = async () => {};
  /** Called before each request of a channel is answered. */
  onRequest: (name: string) => Promise<void> = async () => {};

  readonly connect: amqp.AmqpConnect = async (url) => {
    this.tried.push(url);
    await this.onConnect(url);
    const connection = new FakeConnection(url, (name) => this.onRequest(name));
    this.connections.push(connection);
    return connection;
  };

  get latest(): FakeConnection {
    const connection = this.connections.at(-1);
    if (!connection) throw new Error("there is no connection");
    return connection;
  }
}
