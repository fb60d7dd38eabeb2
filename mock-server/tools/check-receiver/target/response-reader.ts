/** One HTTP response as it was received. `body` holds at most its first 64 KB. */
export interface HttpResponse {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: Buffer;
}

const headBytesMax = 256 * 1024;
const bodyBytesKept = 64 * 1024;

interface Part<Content> {
  readonly content: Content;
  /** The bytes after it. */
  readonly rest: Buffer;
}

/**
 * The first HTTP/1 response in `bytes`; undefined while it is incomplete. Interim (1xx) responses are dropped. Throws
 * when the bytes are not HTTP/1. `isClosed`: no more bytes follow, which completes a body without a length.
 */
export function takeResponse(bytes: Buffer, isClosed: boolean): Part<HttpResponse> | undefined {
  const headEnd = bytes.indexOf("\r\n\r\n");
  if (headEnd === -1) {
    if (bytes.length > headBytesMax) throw new Error("the head of the response has no end");
    if (bytes.length >= 5 && bytes.toString("latin1", 0, 5) !== "HTTP/") throw new Error("not HTTP");
    return undefined;
  }
  const [statusLine = "", ...lines] = bytes.toString("latin1", 0, headEnd).split("\r\n");
  const status = Number(/^HTTP\/1\.[01] ([1-5][0-9]{2})(?: |$)/.exec(statusLine)?.[1]);
  if (Number.isNaN(status)) throw new Error("not HTTP");
  const afterHead = bytes.subarray(headEnd + 4);
  if (status < 200) return takeResponse(afterHead, isClosed);
  const headers = new Map(lines.map(parseHeader));
  const body = takeBody(afterHead, status, headers, isClosed);
  return body && { ...body, content: { status, headers, body: body.content.subarray(0, bodyBytesKept) } };
}

function parseHeader(line: string): [name: string, value: string] {
  const [name = "", ...value] = line.split(":");
  return [name.toLowerCase(), value.join(":").trim()];
}

function takeBody(
  bytes: Buffer,
  status: number,
  headers: HttpResponse["headers"],
  isClosed: boolean,
): Part<Buffer> | undefined {
  const take = (length: number) => ({ content: bytes.subarray(0, length), rest: bytes.subarray(length) });
  if (status === 204 || status === 304) return take(0);
  if (/chunked\s*$/i.test(headers.get("transfer-encoding") ?? "")) return takeChunks(bytes);
  const length = headers.get("content-length") ?? "";
  if (/^[0-9]+$/.test(length)) return bytes.length < Number(length) ? undefined : take(Number(length));
  return isClosed ? take(bytes.length) : undefined;
}

function takeChunks(bytes: Buffer): Part<Buffer> | undefined {
  const chunks: Buffer[] = [];
  let offset = 0;
  for (;;) {
    const lineEnd = bytes.indexOf("\r\n", offset);
    if (lineEnd === -1) return undefined;
    const size = Number.parseInt(bytes.toString("latin1", offset, lineEnd), 16);
    if (Number.isNaN(size)) throw new Error("the response has a malformed chunk");
    if (size === 0) {
      // Trailers, if any, end with an empty line; the size line's own end may be that line's start.
      const end = bytes.indexOf("\r\n\r\n", lineEnd);
      return end === -1 ? undefined : { content: Buffer.concat(chunks), rest: bytes.subarray(end + 4) };
    }
    const chunkStart = lineEnd + 2;
    if (bytes.length < chunkStart + size + 2) return undefined;
    chunks.push(bytes.subarray(chunkStart, chunkStart + size));
    offset = chunkStart + size + 2;
  }
}
