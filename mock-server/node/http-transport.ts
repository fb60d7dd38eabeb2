import { lookup } from "node:dns";
import * as http from "node:http";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";
import type { LookupFunction } from "node:net";
import { rootCertificates } from "node:tls";
import { ByteBuffer } from "@workspace-tasks/kernel/bytes.ts";
import type { Clock } from "@workspace-tasks/kernel/clock.ts";
import { isLoopbackHost } from "@workspace-tasks/kernel/host.ts";
import { failed, type Transport, type TransportFailure, timedOut } from "../outbound.ts";
import { outboundLimits } from "../settings/settings.ts";
import { realClock, scheduleAwakeLimit } from "../time/real-clock.ts";

export interface HttpTransportOptions {
  /** Default: `outboundLimits`. */
  readonly limits?: Readonly<Record<keyof typeof outboundLimits, number>> | undefined;
  /** Certificates in PEM that HTTPS receivers may use, besides those that Node trusts. Default: none. */
  readonly trustedCertificates?: readonly string[] | undefined;
  /** Requests to other computers fail instead of being sent. Default: `false`. */
  readonly loopbackOnly?: boolean | undefined;
  /**
   * Measures the time limits of real sockets. It is the computer's clock also when the mock's own time is
   * virtual: virtual time does not move until the socket has a response, so it could never run out. Time in which
   * this process does not run counts little, so that a busy machine is not taken for a receiver that hangs.
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
  limits: { socketsPerOriginMax, readTimeoutMs, readBytesMax } = outboundLimits,
  trustedCertificates = [],
  loopbackOnly = false,
  clock = realClock,
}: HttpTransportOptions = {}): Transport {
  const pool = { keepAlive: true, maxSockets: socketsPerOriginMax, timeout: idleSocketMs };
  const ca = trustedCertificates.length > 0 ? [...rootCertificates, ...trustedCertificates] : undefined;
  const httpAgent = new http.Agent(pool);
  const httpsAgent = new HttpsAgent(ca ? { ...pool, ca } : pool);
  const inFlight = new Set<() => void>();

  const open = ({ method, headers }: HttpCall, url: URL | null): http.ClientRequest | null => {
    const options = { method, headers, lookup: lookupLocalhost };
    if (url?.protocol === "https:") return httpsRequest(url, { ...options, agent: httpsAgent });
    if (url?.protocol === "http:") return http.request(url, { ...options, agent: httpAgent });
    return null;
  };

  const start = (call: HttpCall): Promise<HttpResponse | TransportFailure> =>
    new Promise((resolve) => {
      let cancelDeadline = () => {};
      let hasBegun = false;
      const finish = (result: HttpResponse | TransportFailure) => {
        cancelDeadline();
        inFlight.delete(abort);
        resolve(result);
      };
      const url = URL.canParse(call.url) ? new URL(call.url) : null;
      if (url && loopbackOnly && !isLoopbackHost(url.hostname)) return resolve(notSent);
      const request = open(call, url);
      if (!request) return resolve({ status: null, error: "invalid url" });
      const abort = () => {
        finish({ status: null, error: "aborted" });
        request.destroy();
      };
      inFlight.add(abort);
      // The limit starts with the socket, not with the wait for one.
      request.once("socket", () => {
        cancelDeadline = scheduleAwakeLimit(clock, call.timeoutMs, () => {
          finish(timedOut(call.timeoutMs, hasBegun));
          request.destroy();
        });
      });
      request.once("error", (error) => finish(failed(error)));
      // Without a listener the socket of a 101 would stay open and the request would never end.
      request.once("upgrade", ({ statusCode = 101, headers }) => {
        finish({ status: statusCode, headers, head: Buffer.alloc(0), bytes: 0 });
        request.destroy();
      });
      request.once("response", (response) => {
        hasBegun = true;
        readResponse(response, call.bodyBytesMax).then(finish, (error) => finish(failed(error)));
      });
      request.end(call.body);
    });

  // Node throws at once for a header it cannot send, such as a credential with a line break in it.
  const send = (call: HttpCall) => start(call).catch(failed);

  return {
    async deliver(request) {
      const response = await send({ ...request, method: "POST", bodyBytesMax: responseBytesMax });
      if (response.status === null) return response;
      const { status, headers, head, bytes } = response;
      const isTruncated = bytes > head.length;
      return { status, headers: plainHeaders(headers), body: head.toString("utf8"), isTruncated };
    },
    async read(url, headers) {
      const limits = { timeoutMs: readTimeoutMs, bodyBytesMax: readBytesMax };
      const response = await send({ url, headers, method: "GET", ...limits });
      if (response.status === null) return response;
      const { status, bytes } = response;
      return { status, bytes, mimeType: mimeTypeOf(response.headers["content-type"]) };
    },
    abort() {
      for (const abort of [...inFlight]) abort();
      httpAgent.destroy();
      httpsAgent.destroy();
    },
  };
}

const notSent: TransportFailure = { status: null, error: "not sent: this mock delivers to loopback only" };

/**
 * `localhost` and its subdomains are this computer by RFC 6761, but not for every system's resolver. A receiver may
 * listen on either address.
 */
export const lookupLocalhost: LookupFunction = (name, options, callback) => {
  if (!/(?:^|\.)localhost$/i.test(name)) lookup(name, options, callback);
  else if (options.all) callback(null, loopbackAddresses);
  else callback(null, "127.0.0.1", 4);
};

const loopbackAddresses = [
  { address: "127.0.0.1", family: 4 },
  { address: "::1", family: 6 },
];

interface HttpCall {
  readonly url: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
  readonly timeoutMs: number;
  readonly bodyBytesMax: number;
}

interface HttpResponse {
  readonly status: number;
  readonly headers: http.IncomingHttpHeaders;
  /** The first bytes of the body. */
  readonly head: Buffer;
  readonly bytes: number;
}

/** Counts the bytes and keeps the first ones; past `bytesMax` the rest is cut off, not awaited. */
async function readResponse(response: http.IncomingMessage, bytesMax: number): Promise<HttpResponse> {
  const kept = new ByteBuffer();
  let bytes = 0;
  for await (const chunk of response) {
    if (bytes < responseBytesMax) kept.append(chunk);
    bytes += chunk.length;
    if (bytes > bytesMax) break;
  }
  const head = Buffer.from(kept.toBytes().subarray(0, responseBytesMax));
  return { status: response.statusCode ?? 0, headers: response.headers, head, bytes };
}

const plainHeaders = (headers: http.IncomingHttpHeaders): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers).map(([name, value = ""]) => [
      name,
      Array.isArray(value) ? value.join(", ") : value,
    ]),
  );

const mimeTypeOf = (contentType = "application/octet-stream") => contentType.split(";")[0]?.trim() ?? "";
