/** One HTTP response as it was received. `body` holds at most its first 64 KB. */
export interface HttpResponse {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: Buffer;
}

export interface ResponseReader {
  /** Takes bytes; returns the responses they completed. Throws when they are not HTTP/1. */
  feed(bytes: Buffer): readonly HttpResponse[];
  /** The peer closed: completes a response whose end is the end of the connection. */
  end(): HttpResponse | undefined;
}

const headBytesMax = 256 * 1024;
const bodyBytesKept = 64 * 1024;

type Framing =
  | { readonly kind: "none" }
  | { readonly kind: "length"; readonly bytes: number }
  | { readonly kind: "chunked" }
  | { readonly kind: "until-close" };

interface Head extends Omit<HttpResponse, "body"> {
  readonly framing: Framing;
}

interface Body {
  readonly body: Buffer;
  readonly consumedBytes: number;
}

/** Reads consecutive HTTP/1 responses of one connection. Interim (1xx) responses are dropped. */
export function createResponseReader(): ResponseReader {
  let buffered = Buffer.alloc(0);
  let head: Head | undefined;

  function next(): HttpResponse | undefined {
    head ??= takeHead();
    if (!head) return undefined;
    const taken = takeBody(buffered, head.framing);
    if (!taken) return undefined;
    buffered = Buffer.from(buffered.subarray(taken.consumedBytes));
    const response = toResponse(head, taken.body);
    head = undefined;
    return response;
  }

  function takeHead(): Head | undefined {
    for (;;) {
      const end = buffered.indexOf("\r\n\r\n");
      if (end === -1) {
        if (buffered.length > headBytesMax) throw new Error("the head of the response has no end");
        if (buffered.length >= 5 && buffered.toString("latin1", 0, 5) !== "HTTP/")
          throw new Error("not HTTP");
        return undefined;
      }
      const parsed = parseHead(buffered.toString("latin1", 0, end));
      buffered = Buffer.from(buffered.subarray(end + 4));
      if (parsed.status >= 200) return parsed;
    }
  }

  return {
    feed(bytes) {
      buffered = Buffer.concat([buffered, bytes]);
      const responses: HttpResponse[] = [];
      for (let response = next(); response; response = next()) responses.push(response);
      return responses;
    },
    end: () => (head?.framing.kind === "until-close" ? toResponse(head, buffered) : undefined),
  };
}

function toResponse({ status, headers }: Head, body: Buffer): HttpResponse {
  return { status, headers, body: body.subarray(0, bodyBytesKept) };
}

function parseHead(text: string): Head {
  const [statusLine = "", ...lines] = text.split("\r\n");
  const status = Number(/^HTTP\/1\.[01] ([1-5][0-9]{2})(?: |$)/.exec(statusLine)?.[1]);
  if (Number.isNaN(status)) throw new Error("not HTTP");
  const headers = new Map<string, string>();
  for (const line of lines) {
    const colon = line.indexOf(":");
    if (colon > 0) headers.set(line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim());
  }
  return { status, headers, framing: framingOf(status, headers) };
}

function framingOf(status: number, headers: ReadonlyMap<string, string>): Framing {
  if (status < 200 || status === 204 || status === 304) return { kind: "none" };
  if (/chunked\s*$/i.test(headers.get("transfer-encoding") ?? "")) return { kind: "chunked" };
  const length = headers.get("content-length");
  if (length !== undefined && /^[0-9]+$/.test(length)) return { kind: "length", bytes: Number(length) };
  return { kind: "until-close" };
}

function takeBody(buffered: Buffer, framing: Framing): Body | undefined {
  switch (framing.kind) {
    case "none":
      return { body: Buffer.alloc(0), consumedBytes: 0 };
    case "length":
      if (buffered.length < framing.bytes) return undefined;
      return { body: buffered.subarray(0, framing.bytes), consumedBytes: framing.bytes };
    case "chunked":
      return takeChunks(buffered);
    case "until-close":
      return undefined;
  }
}

function takeChunks(buffered: Buffer): Body | undefined {
  const chunks: Buffer[] = [];
  let offset = 0;
  for (;;) {
    const lineEnd = buffered.indexOf("\r\n", offset);
    if (lineEnd === -1) return undefined;
    const size = Number.parseInt(buffered.toString("latin1", offset, lineEnd), 16);
    if (Number.isNaN(size)) throw new Error("the response has a malformed chunk");
    if (size === 0) {
      // Trailers, if any, end with an empty line; the size line's own end may be that line's start.
      const end = buffered.indexOf("\r\n\r\n", lineEnd);
      return end === -1 ? undefined : { body: Buffer.concat(chunks), consumedBytes: end + 4 };
    }
    const chunkStart = lineEnd + 2;
    if (buffered.length < chunkStart + size + 2) return undefined;
    chunks.push(buffered.subarray(chunkStart, chunkStart + size));
    offset = chunkStart + size + 2;
  }
}
