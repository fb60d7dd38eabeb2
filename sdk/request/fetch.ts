// The option `fetch`, typed by what the client uses of it and not by the types of one implementation: the global function
// and undici's own have types that do not agree with each other.

/** Sends one HTTP request, as the global `fetch` does. That of undici fits without a cast. */
export type Fetch = (url: URL | string, init: FetchInit) => Promise<FetchResponse>;

/** What the client sends. An absent body is no property: with `exactOptionalPropertyTypes` some types reject `undefined`. */
export interface FetchInit {
  readonly method: string;
  readonly headers: Record<string, string>;
  readonly body?: string | FetchBytes;
  /** A followed redirect would carry the key or the token to another host. */
  readonly redirect: "manual";
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
  /** Of the body, once it was read. */
  readonly errors?: unknown;
  readonly extensions?: unknown;
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
