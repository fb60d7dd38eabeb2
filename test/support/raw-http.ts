import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { sampleEvent } from "./sample-event.ts";
import { secretA, signBytes } from "./signed-delivery.ts";

export interface RawResponse {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export type HeaderLine = readonly [name: string, value: string];

export interface RawRequest {
  readonly method?: string;
  readonly path?: string;
  /** Default: `receiver.test`. */
  readonly host?: string;
  readonly headers?: readonly HeaderLine[];
  readonly body?: Uint8Array | string;
  /** `null`: no such header. Default: the length of the body. */
  readonly contentLength?: number | null;
}

/** A request as bytes, so that a test can send what no HTTP client would. */
export function requestBytes(request: RawRequest): Buffer {
  const { method = "POST", path = "/webhooks", host = "receiver.test", headers = [] } = request;
  const body = Buffer.from((request.body ?? "") as string);
  const { contentLength = body.length } = request;
  const length: HeaderLine[] = contentLength === null ? [] : [["Content-Length", String(contentLength)]];
  const lines = [["Host", host], ...headers, ...length].map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.concat([Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.join("")}\r\n`, "latin1"), body]);
}

/** One TCP connection to a server on this machine, with its responses in order. */
export class RawConnection implements AsyncDisposable {
  readonly #socket: Socket;
  readonly #responses: RawResponse[] = [];
  #unread = Buffer.alloc(0);
  #closed = false;
  #waiting: (() => void)[] = [];

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on("data", (chunk) => this.#read(chunk));
    // A server may reset the connection after its response.
    socket.on("error", () => {});
    socket.on("close", () => {
      this.#closed = true;
      this.#signal();
    });
  }

  static async open(port: number): Promise<RawConnection> {
    const socket = connect({ port, host: "127.0.0.1", noDelay: true });
    await once(socket, "connect");
    return new RawConnection(socket);
  }

  write(bytes: Uint8Array | string): void {
    this.#socket.write(bytes);
  }

  /** Writes and resolves once the system has taken the bytes, or the server has closed the connection. */
  async writeAll(bytes: Uint8Array): Promise<void> {
    if (this.#closed || this.#socket.write(bytes)) return;
    await new Promise<void>((resolve) => this.#socket.once("drain", resolve).once("close", () => resolve()));
  }

  /** Resolves with the first `count` responses; rejects when the connection closes before. */
  async responses(count: number): Promise<readonly RawResponse[]> {
    while (this.#responses.length < count) {
      if (this.#closed) throw new Error(`closed after ${this.#responses.length} of ${count} responses`);
      await this.#change();
    }
    return this.#responses.slice(0, count);
  }

  /** Resolves with the statuses of the first `count` responses. */
  async statuses(count: number): Promise<readonly number[]> {
    return (await this.responses(count)).map(({ status }) => status);
  }

  async closed(): Promise<readonly RawResponse[]> {
    while (!this.#closed) await this.#change();
    return this.#responses;
  }

  get isClosed(): boolean {
    return this.#closed;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#socket.destroy();
    await this.closed();
  }

  #change(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  #signal(): void {
    for (const proceed of this.#waiting.splice(0)) proceed();
  }

  #read(chunk: Buffer): void {
    this.#unread = Buffer.concat([this.#unread, chunk]);
    for (;;) {
      const headEnd = this.#unread.indexOf("\r\n\r\n");
      if (headEnd < 0) return;
      const { status, headers } = parseHead(this.#unread.subarray(0, headEnd).toString("latin1"));
      const end = headEnd + 4 + Number(headers["content-length"] ?? 0);
      if (this.#unread.length < end) return;
      const body = this.#unread.subarray(headEnd + 4, end).toString();
      this.#unread = this.#unread.subarray(end);
      this.#responses.push({ status, headers, body });
      this.#signal();
    }
  }
}

function parseHead(head: string): { status: number; headers: Record<string, string> } {
  const [statusLine = "", ...lines] = head.split("\r\n");
  const headers = Object.fromEntries(
    lines.map((line) => {
      const colon = line.indexOf(":");
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
    }),
  );
  return { status: Number(statusLine.split(" ")[1]), headers };
}

/** Sends one request on its own connection and returns the response. */
export async function sendRaw(port: number, bytes: Uint8Array): Promise<RawResponse> {
  await using connection = await RawConnection.open(port);
  connection.write(bytes);
  const [response] = await connection.responses(1);
  if (!response) throw new Error("expected a response");
  return response;
}

/** The time of the receivers that these deliveries are sent to. */
export const nowSeconds = 1_772_357_400;

export interface RawDelivery extends Omit<RawRequest, "headers" | "body"> {
  readonly body?: string | Buffer;
  readonly id?: string;
  readonly timestamp?: string;
  readonly secret?: string;
  readonly signature?: string;
  /** Replaces the three signed headers. */
  readonly headers?: (signed: readonly HeaderLine[]) => readonly HeaderLine[];
  readonly extraHeaders?: readonly HeaderLine[];
  /** Sent instead of the signed body. */
  readonly wireBody?: string | Buffer;
}

let lastId = 0;
export const nextId = () => `msg_${++lastId}`;

/** The bytes of a delivery that is valid except for what the options change. */
export function deliveryBytes(options: RawDelivery = {}): Buffer {
  const {
    id = nextId(),
    timestamp = String(nowSeconds),
    secret = secretA,
    headers = (signed) => signed,
    extraHeaders = [],
    ...request
  } = options;
  const body = Buffer.from((options.body ?? JSON.stringify(sampleEvent())) as string);
  const signature = options.signature ?? signBytes(secret, `${id}.${timestamp}.`, body);
  const signed: readonly HeaderLine[] = [
    ["webhook-id", id],
    ["webhook-timestamp", timestamp],
    ["webhook-signature", signature],
  ];
  return requestBytes({
    ...request,
    headers: [["Content-Type", "application/json"], ...headers(signed), ...extraHeaders],
    body: options.wireBody ?? body,
  });
}

/** A delivery in chunks of seven bytes. */
export function chunkedBytes(body: string, extension = ""): Buffer {
  const chunks =
    Buffer.from(body)
      .toString("latin1")
      .match(/[\s\S]{1,7}/g) ?? [];
  const framed = chunks.map((chunk) => `${chunk.length.toString(16)}${extension}\r\n${chunk}\r\n`).join("");
  return deliveryBytes({
    body,
    extraHeaders: [["Transfer-Encoding", "chunked"]],
    wireBody: Buffer.from(`${framed}0\r\n\r\n`, "latin1"),
    contentLength: null,
  });
}
