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
  const bytes = Buffer.from(response.body, "utf8");
  outgoing.writeHead(response.status, { ...response.headers, "content-length": bytes.length });
  if (!abort) outgoing.end(bytes);
  else if (abort.kind === "stall") outgoing.flushHeaders();
  // `destroy` after the bytes are flushed: a reset could overtake them in the client's kernel.
  else outgoing.write(bytes.subarray(0, abort.afterBytes ?? 0), () => socket?.destroy());
}
