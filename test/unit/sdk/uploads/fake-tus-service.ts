/** What happens to one request: how many bytes of its body arrive, and what the sender receives. */
export interface TusFault {
  /** Bytes of the body that arrive. Default: all. */
  readonly arriving?: number;
  /** `cut` breaks the connection after the bytes arrived; a number replaces the true status. */
  readonly response?: "cut" | number;
  readonly headers?: Readonly<Record<string, string>>;
  /** The upload disappears first. */
  readonly lose?: boolean;
  /** Bytes that the service forgets first. */
  readonly forget?: number;
  /** The token in the request is rejected. */
  readonly rejectToken?: boolean;
  /** Never responds; ends when the request is aborted. */
  readonly stall?: boolean;
}

export interface TusLogEntry {
  readonly method: string;
  readonly url: string;
  readonly headers: Headers;
  readonly bytes: number;
}

export interface FakeTusServiceOptions {
  /** The fault of request number n, counted from 0. */
  fault?(request: number, method: string): TusFault | undefined;
  /** Writes the `Location` of upload number n. */
  location?(number: number): string;
}

interface StoredUpload {
  length: number | null;
  content: Buffer;
  readonly metadata: string;
}

/** A model of an upload service behind `fetch`, to be broken at any request. */
export function createFakeTusService({
  fault,
  location = (n) => `/api/uploads/u-${n}`,
}: FakeTusServiceOptions = {}) {
  const uploads = new Map<string, StoredUpload>();
  const log: TusLogEntry[] = [];
  const maxRequestsWithoutEnd = 10_000;

  async function fetch(input: URL | string, init: RequestInit = {}): Promise<Response> {
    const url = new URL(input);
    const method = init.method ?? "GET";
    const headers = new Headers(init.headers);
    const { body: sent = new Uint8Array() } = init;
    if ((sent as Uint8Array).buffer instanceof SharedArrayBuffer)
      throw new TypeError("fetch takes no shared memory");
    const body = Buffer.from(sent as Uint8Array);
    const applied = fault?.(log.length, method) ?? {};
    log.push({ method, url: url.href, headers, bytes: body.byteLength });
    if (log.length > maxRequestsWithoutEnd) throw new Error("the upload does not end");
    if (applied.stall) return stall(init.signal);
    if (applied.rejectToken) return new Response(null, { status: 401 });
    if (applied.lose) uploads.clear();
    for (const upload of uploads.values()) {
      upload.content = upload.content.subarray(0, upload.content.byteLength - (applied.forget ?? 0));
    }
    const response = serve(method, url, headers, body.subarray(0, applied.arriving ?? body.byteLength));
    if (applied.response === "cut") throw new TypeError("fetch failed", { cause: new Error("ECONNRESET") });
    if (applied.response === undefined) return response;
    return new Response(null, { status: applied.response, headers: applied.headers ?? {} });
  }

  function serve(method: string, url: URL, headers: Headers, body: Buffer): Response {
    if (method === "POST") {
      const number = uploads.size + 1;
      const length = headers.get("upload-length");
      uploads.set(`u-${number}`, {
        length: length === null ? null : Number(length),
        content: Buffer.alloc(0),
        metadata: headers.get("upload-metadata") ?? "",
      });
      return new Response(null, { status: 201, headers: { location: location(number) } });
    }
    const upload = uploads.get(url.pathname.split("/").at(-1) ?? "");
    if (!upload) return new Response("gone", { status: 404 });
    return method === "HEAD" ? tell(upload, 200) : append(upload, headers, body);
  }

  function append(upload: StoredUpload, headers: Headers, body: Buffer): Response {
    if (headers.get("upload-offset") !== `${upload.content.byteLength}`) {
      return new Response(null, { status: 409 });
    }
    const length = headers.get("upload-length");
    if (length !== null && upload.length !== null) return new Response(null, { status: 400 });
    if (length !== null) upload.length = Number(length);
    upload.content = Buffer.concat([upload.content, body]);
    return tell(upload, 204);
  }

  return { fetch, uploads, log };
}

function tell(upload: StoredUpload, status: number): Response {
  return new Response(null, {
    status,
    headers: {
      "upload-offset": `${upload.content.byteLength}`,
      ...(upload.length === null ? { "upload-defer-length": "1" } : { "upload-length": `${upload.length}` }),
    },
  });
}

function stall(signal: AbortSignal | null | undefined): Promise<Response> {
  return new Promise((_, reject) => {
    signal?.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}
