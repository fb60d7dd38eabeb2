import { utf8 } from "@workspace-tasks/kernel/bytes.ts";
import type { Abort, WireResponse } from "./serve-with-faults.ts";

/** A connection that a fault cuts, as `fetch` reports it: a TypeError with the system's error as its cause. */
export class ConnectionCutError extends TypeError {
  constructor() {
    const cause = Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" });
    super("fetch failed", { cause });
  }
}

/** Statuses of responses without a body. */
const bodiless: readonly number[] = [204, 205, 304];

/** The same response for callers of `fetch` in this process. @throws ConnectionCutError, as `fetch` rejects */
export function toFetchResponse({ status, headers, body, abort }: WireResponse): Response {
  const hasBody = !bodiless.includes(status);
  if (!abort) return new Response(hasBody ? body : null, { status, headers: { ...headers } });
  if (!hasBody || (abort.kind === "cut" && abort.afterBytes === null)) throw new ConnectionCutError();
  const bytes = utf8(body);
  return new Response(abortedBody(bytes, abort), {
    status,
    headers: { ...headers, "content-length": String(bytes.length) },
  });
}

function abortedBody(bytes: Uint8Array, abort: Abort): ReadableStream<Uint8Array> {
  const part = new Uint8Array(bytes.subarray(0, abort.kind === "cut" ? (abort.afterBytes ?? 0) : 0));
  // An error discards what is queued in a stream, so the part that is sent and the error are separate pulls.
  let sent = part.length === 0;
  return new ReadableStream({
    async pull(controller) {
      if (abort.kind === "stall") return new Promise<void>(() => {});
      if (sent) return controller.error(new ConnectionCutError());
      sent = true;
      controller.enqueue(part);
    },
  });
}
