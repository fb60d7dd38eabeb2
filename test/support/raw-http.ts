import { once } from "node:events";
import { connect, type Socket } from "node:net";

export type RawAnswer = {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
};

export type HeaderLine = readonly [name: string, value: string];

/** A request as bytes, so that a test can send what no HTTP client would. */
export function requestBytes(options: {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: readonly HeaderLine[];
  readonly body?: Uint8Array | string;
  /** Default: a `Content-Length` that is true. */
  readonly contentLength?: number | null;
}): Buffer {
  const { method = "POST", path = "/webhooks", headers = [] } = options;
  const body = Buffer.from((options.body ?? "") as string);
  const { contentLength = body.length } = options;
  const length: HeaderLine[] = contentLength === null ? [] : [["Content-Length", String(contentLength)]];
  const lines = [["Host", "receiver.test"], ...headers, ...length].map(
    ([name, value]) => `${name}: ${value}\r\n`,
  );
  return Buffer.concat([Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.join("")}\r\n`, "latin1"), body]);
}

/** One TCP connection to a server on this machine, with the answers that came over it in order. */
export class RawConnection implements AsyncDisposable {
  readonly #socket: Socket;
  readonly #bodiless: boolean;
  readonly #answers: RawAnswer[] = [];
  #unread = Buffer.alloc(0);
  #closed = false;
  #continued = false;
  #waiting: (() => void)[] = [];

  private constructor(socket: Socket, bodiless: boolean) {
    this.#socket = socket;
    this.#bodiless = bodiless;
    socket.on("data", (chunk) => this.#read(chunk));
    // A reset after the answer is one of the ways in which a server may end a connection.
    socket.on("error", () => {});
    socket.on("close", () => {
      this.#closed = true;
      this.#signal();
    });
  }

  /** `bodiless`: the answers have no body whatever their headers say, as to HEAD. */
  static async open(port: number, { bodiless = false } = {}): Promise<RawConnection> {
    const socket = connect({ port, host: "127.0.0.1", noDelay: true });
    await once(socket, "connect");
    return new RawConnection(socket, bodiless);
  }

  write(bytes: Uint8Array | string): void {
    this.#socket.write(bytes);
  }

  /** Writes and resolves once the system has taken the bytes, or the other side has closed. */
  async writeAll(bytes: Uint8Array): Promise<void> {
    if (this.#closed || this.#socket.write(bytes)) return;
    await new Promise<void>((resolve) => this.#socket.once("drain", resolve).once("close", () => resolve()));
  }

  /** Closes this side for writing, as a sender that died in the middle would. */
  endWriting(): void {
    this.#socket.end();
  }

  /** Resolves with the first `count` answers; rejects when the connection closes before. */
  async answers(count: number): Promise<readonly RawAnswer[]> {
    while (this.#answers.length < count) {
      if (this.#closed)
        throw new Error(`connection closed after ${this.#answers.length} of ${count} answers`);
      await this.#change();
    }
    return this.#answers.slice(0, count);
  }

  /** Resolves once the server has said 100 Continue. */
  async continued(): Promise<void> {
    while (!this.#continued) {
      if (this.#closed) throw new Error("connection closed before 100 Continue");
      await this.#change();
    }
  }

  async closed(): Promise<readonly RawAnswer[]> {
    while (!this.#closed) await this.#change();
    return this.#answers;
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
      const bodyBytes = this.#bodiless || status === 100 ? 0 : Number(headers["content-length"] ?? 0);
      const end = headEnd + 4 + bodyBytes;
      if (this.#unread.length < end) return;
      const body = this.#unread.subarray(headEnd + 4, end).toString();
      this.#unread = this.#unread.subarray(end);
      if (status === 100) this.#continued = true;
      else this.#answers.push({ status, headers, body });
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

/** Sends one request over its own connection and waits for its answer. */
export async function exchange(
  port: number,
  bytes: Uint8Array,
  options?: { bodiless?: boolean },
): Promise<RawAnswer> {
  await using connection = await RawConnection.open(port, options);
  connection.write(bytes);
  const [answer] = await connection.answers(1);
  if (!answer) throw new Error("expected an answer");
  return answer;
}
