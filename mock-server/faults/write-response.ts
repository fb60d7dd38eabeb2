import type { ServerResponse } from "node:http";
import type { Abort, WireResponse } from "./serve-with-faults.ts";

/** Writes an answer to a real connection, broken in the way its ending says. */
export function writeResponse(response: ServerResponse, answer: WireResponse): void {
  const { ending } = answer;
  const bytes = Buffer.from(answer.body, "utf8");
  if (!ending) {
    response.writeHead(answer.status, { ...answer.headers, "content-length": bytes.length }).end(bytes);
    return;
  }
  const socket = response.socket;
  if (ending.kind === "cut" && ending.afterBytes === null) {
    socket?.resetAndDestroy();
    return;
  }
  response.writeHead(answer.status, { ...answer.headers, "content-length": bytes.length });
  if (ending.kind === "stall") {
    response.flushHeaders();
    return;
  }
  // `destroy` after the bytes are flushed: a reset could overtake them in the client's kernel.
  response.write(bytes.subarray(0, ending.afterBytes ?? 0), () => socket?.destroy());
}

/** A connection that a fault cuts, as `fetch` reports it: a TypeError with the system's error as its cause. */
export class ConnectionCutError extends TypeError {
  constructor() {
    const cause = Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" });
    super("fetch failed", { cause });
  }
}

/** Statuses whose answers have no body that could be cut. */
const bodiless: readonly number[] = [204, 205, 304];

/** The same answer for callers of `fetch` in this process; a cut connection rejects as `fetch` does. */
export function toFetchResponse(answer: WireResponse): Response {
  const { ending, status } = answer;
  const hasBody = !bodiless.includes(status);
  if (!ending) return new Response(hasBody ? answer.body : null, { status, headers: { ...answer.headers } });
  if (!hasBody || (ending.kind === "cut" && ending.afterBytes === null)) throw new ConnectionCutError();
  const bytes = Buffer.from(answer.body, "utf8");
  const headers = { ...answer.headers, "content-length": String(bytes.length) };
  return new Response(breakingBody(bytes, ending), { status, headers });
}

function breakingBody(bytes: Buffer, ending: Abort): ReadableStream<Uint8Array> {
  const part = new Uint8Array(bytes.subarray(0, ending.kind === "cut" ? (ending.afterBytes ?? 0) : 0));
  // An error drops what is queued in a stream, so the part that gets through and the cut take turns.
  let sent = part.length === 0;
  return new ReadableStream({
    async pull(controller) {
      if (ending.kind === "stall") return new Promise<void>(() => {});
      if (sent) return controller.error(new ConnectionCutError());
      sent = true;
      controller.enqueue(part);
    },
  });
}
