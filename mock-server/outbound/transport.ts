import {
  type ClientRequest,
  Agent as HttpAgent,
  request as httpRequest,
  type IncomingMessage,
} from "node:http";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";
import { rootCertificates } from "node:tls";
import { type Clock, createRealClock } from "../time/clock.ts";
import type { DeliveryAnswer, DeliveryRequest, Outside, ReadAnswer } from "./port.ts";

/** A receiver in this process: called in place of a socket. */
export type ReceiverFunction = (request: Request) => Response | Promise<Response>;

export type OutsideOptions = {
  /** Sockets that one origin gets at the same time. Default: 64. */
  readonly socketsPerOriginMax?: number;
  /** Time limit for reading a URL. Default: 15000. */
  readonly readTimeoutMs?: number;
  /** Bytes that are read from one URL before it counts as too large. Default: 100 MB. */
  readonly readBytesMax?: number;
  /** Certificates in PEM that HTTPS receivers may show, beside those that Node trusts. Default: none. */
  readonly trustedCertificates?: readonly string[];
  /**
   * Measures the time limits of real sockets. It is the computer's clock also where the mock's own time
   * is virtual: virtual time stands still until the socket has answered, so it could never run out.
   */
  readonly clock?: Clock;
};

// Closed before the five seconds after which a Node receiver closes an idle connection itself, so that a
// delivery does not meet a socket that is about to go.
const idleSocketMs = 1_500;
/** Of an answer only its beginning is kept; a receiver that sends more is cut off. */
const answerBytesMax = 64 * 1_024;

/**
 * The world outside over real sockets: keep-alive connections, no redirect followed, time limits.
 * Nothing here rejects: what goes wrong comes back as `{ status: null, error }`.
 */
export function createSocketOutside(options: OutsideOptions = {}): Outside {
  const {
    socketsPerOriginMax = 64,
    readTimeoutMs = 15_000,
    readBytesMax = 100 * 1_048_576,
    trustedCertificates = [],
    clock = createRealClock(),
  } = options;
  const pool = { keepAlive: true, maxSockets: socketsPerOriginMax, timeout: idleSocketMs };
  const ca = trustedCertificates.length > 0 ? [...rootCertificates, ...trustedCertificates] : undefined;
  const agents = { http: new HttpAgent(pool), https: new HttpsAgent(ca ? { ...pool, ca } : pool) };
  const underWay = new Set<() => void>();

  const open = (call: Exchange<unknown>): ClientRequest | null => {
    const url = URL.canParse(call.url) ? new URL(call.url) : null;
    const { method, headers } = call;
    if (url?.protocol === "https:") return httpsRequest(url, { method, headers, agent: agents.https });
    if (url?.protocol === "http:") return httpRequest(url, { method, headers, agent: agents.http });
    return null;
  };

  const send = <Answer>(call: Exchange<Answer>): Promise<Answer | Failure> =>
    new Promise((resolve) => {
      let cancelDeadline = () => {};
      const finish = (answer: Answer | Failure) => {
        cancelDeadline();
        underWay.delete(abort);
        resolve(answer);
      };
      const request = open(call);
      if (!request) return resolve({ status: null, error: "invalid url" });
      const abort = () => {
        finish({ status: null, error: "aborted" });
        request.destroy();
      };
      underWay.add(abort);
      // The limit runs from the socket on, not from the queue for one.
      request.once("socket", () => {
        cancelDeadline = clock.schedule(call.timeoutMs, () => {
          finish(tooLate(call.timeoutMs));
          request.destroy();
        });
      });
      request.once("error", (error) => finish({ status: null, error: describeError(error) }));
      request.once("response", (response) => {
        readBody(response, call.bodyBytesMax).then(
          (body) => finish(call.answer(response, body)),
          (error) => finish({ status: null, error: describeError(error) }),
        );
      });
      request.end(call.body);
    });

  // Node throws at once for a header it cannot send, such as a credential with a line break in it.
  const exchange = <Answer>(call: Exchange<Answer>): Promise<Answer | Failure> =>
    send(call).catch((error: unknown) => ({ status: null, error: describeError(error) }));

  return {
    deliver: (request) =>
      exchange<DeliveryAnswer>({
        ...request,
        method: "POST",
        bodyBytesMax: answerBytesMax,
        answer: (response, { head }) => ({
          status: response.statusCode ?? 0,
          headers: plainHeaders(response),
          body: head.toString("utf8"),
        }),
      }),
    read: (url, headers) =>
      exchange<ReadAnswer>({
        url,
        headers,
        method: "GET",
        body: undefined,
        timeoutMs: readTimeoutMs,
        bodyBytesMax: readBytesMax,
        answer: (response, { bytes }) => ({
          status: response.statusCode ?? 0,
          bytes,
          mimeType: mimeTypeOf(response.headers["content-type"]),
        }),
      }),
    abort() {
      for (const abort of [...underWay]) abort();
      agents.http.destroy();
      agents.https.destroy();
    },
  };
}

/**
 * The world outside inside this process: deliveries to a URL that `receivers` names (by its exact text)
 * go to that function, everything else goes to `fallback`.
 */
export function createFunctionOutside(
  receivers: ReadonlyMap<string, ReceiverFunction>,
  fallback: Outside,
  clock: Clock = createRealClock(),
): Outside {
  const underWay = new Set<() => void>();

  const call = (receiver: ReceiverFunction, request: DeliveryRequest): Promise<DeliveryAnswer> =>
    new Promise((resolve) => {
      const finish = (answer: DeliveryAnswer) => {
        cancelDeadline();
        underWay.delete(abort);
        resolve(answer);
      };
      const abort = () => finish({ status: null, error: "aborted" });
      const cancelDeadline = clock.schedule(request.timeoutMs, () => finish(tooLate(request.timeoutMs)));
      underWay.add(abort);
      void callReceiver(receiver, request).then(finish);
    });

  return {
    deliver(request) {
      const receiver = receivers.get(request.url);
      return receiver ? call(receiver, request) : fallback.deliver(request);
    },
    read: fallback.read,
    abort() {
      for (const abort of [...underWay]) abort();
      fallback.abort();
    },
  };
}

async function callReceiver(receiver: ReceiverFunction, request: DeliveryRequest): Promise<DeliveryAnswer> {
  try {
    const { url, headers, body } = request;
    const response = await receiver(
      new Request(url, { method: "POST", headers, body: new Uint8Array(body) }),
    );
    return {
      status: response.status,
      headers: Object.fromEntries(response.headers),
      body: await response.text(),
    };
  } catch (error) {
    return { status: null, error: describeError(error) };
  }
}

const tooLate = (timeoutMs: number): Failure => ({
  status: null,
  error: `no answer within ${timeoutMs} ms`,
});

type Failure = { readonly status: null; readonly error: string };
type Body = { readonly head: Buffer; readonly bytes: number };

type Exchange<Answer> = {
  readonly url: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer | undefined;
  readonly timeoutMs: number;
  readonly bodyBytesMax: number;
  answer(response: IncomingMessage, body: Body): Answer;
};

/** Counts the bytes and keeps the first ones; past `bytesMax` the rest is cut off, not awaited. */
async function readBody(response: IncomingMessage, bytesMax: number): Promise<Body> {
  const kept: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response) {
    if (bytes < answerBytesMax) kept.push(chunk);
    bytes += chunk.length;
    if (bytes > bytesMax) break;
  }
  return { head: Buffer.concat(kept).subarray(0, answerBytesMax), bytes };
}

function plainHeaders(response: IncomingMessage): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(response.headers)) {
    headers[name] = Array.isArray(value) ? value.join(", ") : (value ?? "");
  }
  return headers;
}

const mimeTypeOf = (contentType = "application/octet-stream") => contentType.split(";")[0]?.trim() ?? "";

/** A network failure in few words: the system's code where there is one. */
function describeError(error: unknown): string {
  if (!(error instanceof Error)) return "failed";
  const code = "code" in error && typeof error.code === "string" ? error.code : null;
  return code ? `${code}: ${error.message || "connection failed"}` : error.message;
}
