import { createHmac } from "node:crypto";
import { createServer } from "node:http";
import { buffer } from "node:stream/consumers";
import { type RunningReceiver, serveReceiver } from "../../support/receivers/served-receiver.ts";

interface Signed {
  readonly id: string;
  readonly timestamp: string;
  readonly body: string;
}

/** How a receiver verifies a delivery. */
export interface Verification {
  readonly key: (secret: string) => Buffer;
  /** A header by its name after `webhook-`. */
  readonly header: (headers: ReadonlyMap<string, string>, name: string) => string | undefined;
  readonly content: (signed: Signed) => string;
  /** The header's text for the correct signature. */
  readonly signature: (digest: Buffer) => string;
  /** Its clock, in the unit of the timestamp header. */
  readonly now: () => number;
  /** In the unit of its clock. */
  readonly tolerance: number;
  /** Whether its responses have the header Date. */
  readonly sendsDate: boolean;
  /** The status for a verified body. */
  readonly accept: (body: string) => number;
}

const correct: Verification = {
  key: (secret) => Buffer.from(secret.slice("whsec_".length), "base64"),
  header: (headers, name) => headers.get(`webhook-${name}`),
  content: ({ id, timestamp, body }) => `${id}.${timestamp}.${body}`,
  signature: (digest) => `v1,${digest.toString("base64")}`,
  now: () => Date.now() / 1000,
  tolerance: 300,
  sendsDate: true,
  accept: () => 200,
};

/** A receiver that verifies correctly but for one mistake, so that it rejects even a valid delivery. */
export function startMistakenReceiver(
  secret: string,
  mistake: Partial<Verification>,
): Promise<RunningReceiver> {
  const { key, header, content, signature, now, tolerance, sendsDate, accept } = { ...correct, ...mistake };
  const server = createServer(async (request, response) => {
    const { rawHeaders } = request;
    const headers = new Map(
      rawHeaders.flatMap((name, at) => (at % 2 === 0 ? [[name, rawHeaders[at + 1] ?? ""] as const] : [])),
    );
    const [id = "", timestamp = "", given] = ["id", "timestamp", "signature"].map((name) =>
      header(headers, name),
    );
    const body = (await buffer(request)).toString();
    const digest = createHmac("sha256", key(secret)).update(content({ id, timestamp, body })).digest();
    const isRight = given === signature(digest) && Math.abs(now() - Number(timestamp)) < tolerance;
    response.sendDate = false;
    const date = sendsDate ? { date: new Date(now() * 1000).toUTCString() } : {};
    response.writeHead(isRight ? accept(body) : 401, date).end();
  });
  return serveReceiver(server);
}
