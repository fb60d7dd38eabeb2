import type { Channel, ChannelModel, ConfirmChannel, ConsumeMessage, Options } from "amqplib";
import type { AmqpConnect } from "../../../../receiver-kit/rabbitmq/amqp-client.ts";

export interface FakePublish {
  readonly exchange: string;
  readonly key: string;
  readonly body: Buffer;
  readonly options: Options.Publish;
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
  deliver(message: ConsumeMessage | null): void;
}

export class FakeConnection {
  readonly url: string;
  readonly publishes: FakePublish[] = [];
  readonly consumers: FakeConsumer[] = [];
  readonly acknowledged: { readonly tag: number; readonly allUpTo: boolean }[] = [];
  readonly #listeners = new Listeners();
  readonly #requests: (name: string) => Promise<void>;
  closedChannels = 0;
  /** The broker closes the latest channel. */
  failChannels: (error: Error) => void = () => {};
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
    this.emit("close");
  }

  createChannel = (): Promise<Channel> => this.createConfirmChannel();

  async createConfirmChannel(): Promise<ConfirmChannel> {
    await this.#requests("channel");
    const listeners = new Listeners();
    const request = async (name: string) => {
      await this.#requests(name);
      return { messageCount: 0, consumerCount: 0 };
    };
    const fail = (error: Error) => {
      this.failChannels = () => {};
      listeners.emit("error", error);
      listeners.emit("close");
    };
    this.failChannels = fail;
    const channel = {
      assertExchange: (name: string) => request(`exchange ${name}`),
      checkExchange: (name: string) => request(`exchange ${name}`),
      assertQueue: (name: string) => request(`queue ${name}`),
      bindQueue: () => request("bind"),
      prefetch: (count: number) => request(`prefetch ${count}`),
      cancel: () => request("cancel"),
      consume: async (queue: string, onMessage: (message: ConsumeMessage | null) => void) => {
        await request(`consume ${queue}`);
        this.consumers.push({ queue, deliver: onMessage });
        return { consumerTag: queue };
      },
      publish: (
        exchange: string,
        key: string,
        body: Buffer,
        options: Options.Publish,
        onConfirm: (error: unknown) => void,
      ) => {
        const giveBack = () => {
          const { correlationId } = options;
          listeners.emit("return", { properties: { correlationId } });
        };
        const confirm = (error: unknown = null) => onConfirm(error);
        this.publishes.push({ exchange, key, body, options, confirm, giveBack });
        return true;
      },
      ack: ({ fields }: ConsumeMessage, allUpTo = false) =>
        this.acknowledged.push({ tag: fields.deliveryTag, allUpTo }),
      close: async () => {
        this.closedChannels += 1;
        listeners.emit("close");
      },
      on: listeners.on,
    };
    return channel as unknown as ConfirmChannel;
  }
}

/** Connections of which a test decides what they do. */
export class FakeAmqp {
  readonly connections: FakeConnection[] = [];
  readonly requests: string[] = [];
  readonly prefetches: number[] = [];
  /** URLs in the order in which they were tried. */
  readonly tried: string[] = [];
  /** Called before a connection opens. */
  onConnect: (url: string) => Promise<void> = async () => {};
  /** Called before each request of a channel is answered. */
  onRequest: (name: string) => Promise<void> = async () => {};

  readonly connect: AmqpConnect = async (given, options: unknown) => {
    const { signal } = options as { readonly signal: AbortSignal };
    const url = String(given).replace(/\?.*/, "");
    this.tried.push(url);
    await this.onConnect(url);
    const connection = new FakeConnection(url, (name) => {
      this.requests.push(name);
      if (name.startsWith("prefetch")) this.prefetches.push(Number(name.slice(9)));
      return this.onRequest(name);
    });
    this.connections.push(connection);
    if (signal.aborted) connection.destroy();
    signal.addEventListener("abort", () => connection.destroy());
    return connection as unknown as ChannelModel;
  };

  /** The latest one with a consumer. */
  get consuming(): FakeConnection {
    return this.connections.findLast(({ consumers }) => consumers.length > 0) ?? this.latest;
  }

  get latest(): FakeConnection {
    const connection = this.connections.at(-1);
    if (!connection) throw new Error("there is no connection");
    return connection;
  }
}
