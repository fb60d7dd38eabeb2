import type { ServerResponse } from "node:http";
import type { WireResponse } from "../faults/serve-with-faults.ts";

/** Writes a response to a socket, broken off as its `abort` says. */
export function writeResponse(outgoing: ServerResponse, response: WireResponse): void {
  const { abort } = response;
  const { socket } = outgoing;
  if (abort?.kind === "cut" && abort.afterBytes === null) {
    socket?.resetAndDestroy();
    return;
  }
  const { body, status, headers } = response;
  outgoing.writeHead(status, { ...headers, "content-length": Buffer.byteLength(body) });
  // As text: Node then sends it together with the head, in one piece.
  if (!abort) outgoing.end(body);
  else if (abort.kind === "stall") outgoing.flushHeaders();
  // `destroy` after the bytes are flushed: a reset could overtake them in the client's kernel.
  else outgoing.write(Buffer.from(body).subarray(0, abort.afterBytes ?? 0), () => socket?.destroy());
}
