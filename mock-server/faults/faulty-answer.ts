import type { ServerResponse } from "node:http";
import type { FaultyAnswer } from "./serve-with-faults.ts";

/** Writes an answer to a real connection, broken in the way its ending says. */
export function writeFaultyAnswer(response: ServerResponse, answer: FaultyAnswer): void {
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

/** The same answer for callers of `fetch` in this process; a cut connection rejects as `fetch` does. */
export function faultyResponse(answer: FaultyAnswer): Response {
  const { ending } = answer;
  const bytes = Buffer.from(answer.body, "utf8");
  if (!ending) return new Response(answer.body, { status: answer.status, headers: { ...answer.headers } });
  if (ending.kind === "cut" && ending.afterBytes === null) throw connectionReset();
  const headers = { ...answer.headers, "content-length": String(bytes.length) };
  // An error drops what is queued in a stream, so the part that gets through and the cut take turns.
  let sent = ending.kind === "cut" && ending.afterBytes === 0;
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      if (ending.kind === "stall") return new Promise<void>(() => {});
      if (sent) return controller.error(connectionReset());
      sent = true;
      controller.enqueue(new Uint8Array(bytes.subarray(0, ending.afterBytes ?? 0)));
    },
  });
  return new Response(body, { status: answer.status, headers });
}

function connectionReset(): TypeError {
  const cause = Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" });
  return new TypeError("fetch failed", { cause });
}
