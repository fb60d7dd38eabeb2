import {
  type ClientRequest,
  Agent as HttpAgent,
  request as httpRequest,
  type IncomingMessage,
} from "node:http";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";
import { rootCertificates } from "node:tls";
import type { Settings } from "../settings.ts";
import { type Clock, createRealClock } from "../time/clock.ts";
import { failed, timedOut } from "./failure.ts";
import type { DeliveryResponse, ReadResponse, Transport, TransportFailure } from "./port.ts";

export interface HttpTransportOptions {
  readonly limits: Settings["outbound"];
  /** Certificates in PEM that HTTPS receivers may use, besides those that Node trusts. Default: none. */
  readonly trustedCertificates?: readonly string[] | undefined;
  /**
   * Measures the time limits of real sockets. It is the computer's clock also when the mock's own time is
   * virtual: virtual time does not move until the socket has a response, so it could never run out.
   */
  readonly clock?: Clock | undefined;
}

// Below the five seconds after which a Node receiver closes an idle connection itself, so that a delivery
// does not use a socket that is about to close.
const idleSocketMs = 1_500;
/** Only the start of a response is kept; a receiver that sends more is cut off. */
const responseBytesMax = 64 * 1_024;

/**
 * Keep-alive connections, no redirect followed, time limits. Nothing here rejects: a failure resolves with
 * `{ status: null, error }`.
 */
export function createHttpTransport({
  limits: { socketsPerOriginMax, readTimeoutMs, readBytesMax },
  trustedCertificates = [],
  clock = createRealClock(),
}: HttpTransportOptions): Transport {
  const pool = { keepAlive: true, maxSockets: socketsPerOriginMax, timeout: idleSocketMs };
  const ca = trustedCertificates.length > 0 ? [...rootCertificates, ...trustedCertificates] : undefined;
  const agents = { http: new HttpAgent(pool), https: new HttpsAgent(ca ? { ...pool, ca } : pool) };
  const inFlight = new Set<() => void>();

  const open = (call: HttpCall<unknown>): ClientRequest | null => {
    const url = URL.canParse(call.url) ? new URL(call.url) : null;
    const { method, headers } = call;
    if (url?.protocol === "https:") return httpsRequest(url, { method, headers, agent: agents.https });
    if (url?.protocol === "http:") return httpRequest(url, { method, headers, agent: agents.http });
    return null;
  };

  const start = <Result>(call: HttpCall<Result>): Promise<Result | TransportFailure> =>
    new Promise((resolve) => {
      let cancelDeadline = () => {};
      const finish = (result: Result | TransportFailure) => {
        cancelDeadline();
        inFlight.delete(abort);
        resolve(result);
      };
      const request = open(call);
      if (!request) return resolve({ status: null, error: "invalid url" });
      const abort = () => {
        finish({ status: null, error: "aborted" });
        request.destroy();
      };
      inFlight.add(abort);
      // The limit starts with the socket, not with the wait for one.
      request.once("socket", () => {
        cancelDeadline = clock.schedule(call.timeoutMs, () => {
          finish(timedOut(call.timeoutMs));
          request.destroy();
        });
      });
      request.once("error", (error) => finish(failed(error)));
      request.once("response", (response) => {
        readBody(response, call.bodyBytesMax).then(
          (body) => finish(call.toResult(response, body)),
          (error) => finish(failed(error)),
        );
      });
      request.end(call.body);
    });

  // Node throws at once for a header it cannot send, such as a credential with a line break in it.
  const send = <Result>(call: HttpCall<Result>): Promise<Result | TransportFailure> =>
    start(call).catch(failed);

  return {
    deliver: (request) =>
      send<DeliveryResponse>({
        ...request,
        method: "POST",
        bodyBytesMax: responseBytesMax,
        toResult: (response, { head }) => ({
          status: response.statusCode ?? 0,
          headers: plainHeaders(response),
          body: head.toString("utf8"),
        }),
      }),
    read: (url, headers) =>
      send<ReadResponse>({
        url,
        headers,
        method: "GET",
        body: undefined,
        timeoutMs: readTimeoutMs,
        bodyBytesMax: readBytesMax,
        toResult: (response, { bytes }) => ({
          status: response.statusCode ?? 0,
          bytes,
          mimeType: mimeTypeOf(response.headers["content-type"]),
        }),
      }),
    abort() {
      for (const abort of [...inFlight]) abort();
      agents.http.destroy();
      agents.https.destroy();
    },
  };
}

interface Body {
  readonly head: Buffer;
  readonly bytes: number;
}

interface HttpCall<Result> {
  readonly url: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer | undefined;
  readonly timeoutMs: number;
  readonly bodyBytesMax: number;
  toResult(response: IncomingMessage, body: Body): Result;
}

/** Counts the bytes and keeps the first ones; past `bytesMax` the rest is cut off, not awaited. */
async function readBody(response: IncomingMessage, bytesMax: number): Promise<Body> {
  const kept: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response) {
    if (bytes < responseBytesMax) kept.push(chunk);
    bytes += chunk.length;
    if (bytes > bytesMax) break;
  }
  return { head: Buffer.concat(kept).subarray(0, responseBytesMax), bytes };
}

function plainHeaders(response: IncomingMessage): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(response.headers)) {
    headers[name] = Array.isArray(value) ? value.join(", ") : (value ?? "");
  }
  return headers;
}

const mimeTypeOf = (contentType = "application/octet-stream") => contentType.split(";")[0]?.trim() ?? "";
