// The option `fetch`, typed by what the client uses of it and not by the types of one implementation: the global function
// and undici's own have types that do not agree with each other. And what the client reads of its responses.

import { ByteBuffer, utf8 } from "@workspace-tasks/kernel/bytes.ts";
import { bytesOf } from "@workspace-tasks/kernel/realm.ts";

/** Sends one HTTP request, as the global `fetch` does. That of undici fits without a cast. */
export type Fetch = (url: URL | string, init: FetchInit) => Promise<FetchResponse>;

/** What the client sends. An absent field is no property: with `exactOptionalPropertyTypes` some types reject `undefined`. */
export interface FetchInit {
  readonly method: string;
  readonly headers: Record<string, string>;
  readonly body?: string | FetchBytes;
  /** A followed redirect would carry the key or the token to another host. */
  readonly redirect: "manual";
  /** A stored response would be an old token, or that of a mutation that is not sent. */
  readonly cache?: "no-store";
  readonly signal: AbortSignal;
}

/** Bytes in memory that is not shared. In this form, because TypeScript before 5.7 has no `Uint8Array<ArrayBuffer>`. */
export type FetchBytes = Uint8Array & { readonly buffer: ArrayBuffer };

/** What the client reads of a response. */
export interface FetchResponse {
  readonly status: number;
  readonly headers: FetchHeaders;
  /** A web stream; of anything else `text` is called, and its size is checked then. */
  readonly body?: unknown;
  text(): Promise<string>;
}

export interface FetchHeaders {
  forEach(callback: (value: string, name: string) => void): void;
}

export interface ResponseHead {
  readonly status: number;
  readonly headers: Headers;
  /** What the body says, once it was read. */
  readonly errors?: unknown;
  readonly extensions?: unknown;
}

/** The fields of every request. */
export const requestDefaults = (): Pick<FetchInit, "redirect" | "cache"> => {
  defaults ??= { redirect: "manual", ...(takesCache() && { cache: "no-store" }) };
  return defaults;
};

let defaults: Pick<FetchInit, "redirect" | "cache"> | undefined;

// Next answers requests from a store by default, POST included. workerd with a compatibility date before 2024-11-11 stores
// none, and throws for the field.
function takesCache(): boolean {
  const init: object = { cache: "no-store" };
  try {
    return typeof Request !== "function" || new Request("http://localhost", init) !== undefined;
  } catch {
    return false;
  }
}

/** Status and headers of what the option `fetch` returned; undefined when it is no response. */
export function headOf(response: unknown): ResponseHead | undefined {
  try {
    const { status, headers } = response as FetchResponse;
    if (!Number.isInteger(status)) return undefined;
    if (headers instanceof Headers) return { status, headers };
    const copy = new Headers();
    headers.forEach((value, name) => void copy.append(name, value));
    return { status, headers: copy };
  } catch {
    return undefined;
  }
}

// When first used: jsdom in Jest has none.
let decoder: InstanceType<typeof TextDecoder> | undefined;

/** The body of one response, whose size is limited while it arrives. */
export class ResponseBody {
  readonly #response: Pick<FetchResponse, "body" | "text">;
  #reader: ReadableStreamDefaultReader<unknown> | undefined;

  constructor(response: Pick<FetchResponse, "body" | "text">) {
    this.#response = response;
  }

  /** Reads the body as text; undefined when it is larger than `bytesMax`. */
  async text(bytesMax: number): Promise<string | undefined> {
    const body: unknown = this.#response.body;
    if (!isWebStream(body)) {
      // It is what the caller's `fetch` returned, and may be anything.
      const text = String(await this.#response.text());
      return utf8(text).byteLength > bytesMax ? undefined : text;
    }
    this.#reader = body.getReader();
    const bytes = new ByteBuffer();
    for (;;) {
      const { done, value } = await this.#reader.read();
      if (done) {
        decoder ??= new TextDecoder();
        return decoder.decode(bytes.toBytes());
      }
      // A stream of the caller's `fetch` may have texts, whose size counts too.
      const chunk = bytesOf(value) ?? utf8(String(value));
      if (bytes.length + chunk.byteLength > bytesMax) {
        this.cancel();
        return undefined;
      }
      bytes.append(chunk);
    }
  }

  /** Closes the connection of a body that is not read to its end. Never throws. */
  cancel(reason?: unknown): void {
    const close = async () => {
      const body: unknown = this.#response.body;
      await (this.#reader ?? (isWebStream(body) ? body : undefined))?.cancel(reason);
    };
    // A stream that has already failed rejects again. The call must end nevertheless.
    close().catch(() => {});
  }
}

/** Recognised by the method that is used: a stream may come from another realm or a polyfill. */
export function isWebStream(body: unknown): body is ReadableStream<unknown> {
  return typeof body === "object" && body !== null && "getReader" in body;
}
