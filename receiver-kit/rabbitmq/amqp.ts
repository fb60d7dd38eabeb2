// What this package needs of an AMQP 0-9-1 client: the promise API of amqplib, and `destroy`, because a connection whose
// other end is silent cannot be closed by exchanging messages.

export interface AmqpMessage {
  readonly content: Buffer;
  readonly fields: {
    /** Increases with each message of a channel. */
    readonly deliveryTag: number;
    readonly redelivered: boolean;
  };
  readonly properties: {
    readonly messageId?: unknown;
    readonly correlationId?: unknown;
    readonly appId?: unknown;
    readonly type?: unknown;
    readonly timestamp?: unknown;
    readonly headers?: Readonly<Record<string, unknown>> | undefined;
  };
}

export interface AmqpPublishOptions {
  readonly persistent: boolean;
  readonly mandatory: boolean;
  readonly messageId: string;
  readonly correlationId: string;
  readonly appId: string;
  readonly type: string;
  readonly timestamp: number;
  readonly contentType: string;
  readonly headers: Readonly<Record<string, string | number>>;
}

/** A channel with publisher confirms. */
export interface AmqpChannel {
  assertExchange(name: string, type: string, options: object): Promise<unknown>;
  checkExchange(name: string): Promise<unknown>;
  assertQueue(name: string, options: object): Promise<unknown>;
  bindQueue(queue: string, exchange: string, key: string): Promise<unknown>;
  prefetch(count: number): Promise<unknown>;
  /** `null` when the broker cancels the consumer. */
  consume(queue: string, onMessage: (message: AmqpMessage | null) => void): Promise<{ consumerTag: string }>;
  cancel(consumerTag: string): Promise<unknown>;
  /** Calls back with `null` once the message is confirmed, with an error after a nack or when the channel closes. */
  publish(
    exchange: string,
    key: string,
    body: Buffer,
    options: AmqpPublishOptions,
    onConfirm: (error: unknown) => void,
  ): boolean;
  ack(message: AmqpMessage, allUpTo: boolean): void;
  close(): Promise<unknown>;
  /** `return`: a message that no queue takes; its confirm follows. */
  on(event: "return", listener: (message: AmqpMessage) => void): unknown;
  on(event: "error", listener: (error: Error) => void): unknown;
  on(event: "close", listener: () => void): unknown;
}

export interface AmqpConnection {
  createConfirmChannel(): Promise<AmqpChannel>;
  close(): Promise<unknown>;
  /** Closes the socket at once. */
  destroy(error: Error): void;
  on(event: "error", listener: (error: Error) => void): unknown;
  on(event: "close", listener: (error?: Error) => void): unknown;
  /** The broker is short of memory or disk and reads nothing more from this connection. */
  on(event: "blocked", listener: (reason: string) => void): unknown;
  on(event: "unblocked", listener: () => void): unknown;
}

export interface AmqpConnectOptions {
  /** Of the connection and its handshake. */
  readonly timeoutMs: number;
  readonly heartbeatSeconds: number;
  /** For `net.connect` or `tls.connect`. */
  readonly socketOptions: object;
}

export type AmqpConnect = (url: string, options: AmqpConnectOptions) => Promise<AmqpConnection>;
