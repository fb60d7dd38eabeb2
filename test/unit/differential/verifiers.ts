// Verifiers of several libraries behind one signature: does it accept this request?

import { Webhook } from "standardwebhooks";
import { Webhook as SvixWebhook } from "svix";
import { isReceiverError } from "../../../receiver-kit/errors.ts";
import { verifyRequest } from "../../../receiver-kit/http/webhook-handler.ts";
import type { WebhookHeaders } from "../../../receiver-kit/signature/signature-headers.ts";
import { createVerifier, type Verifier } from "../../../receiver-kit/signature/verifier.ts";
import { type Draft, type HeaderLines, nowSeconds } from "./draft.ts";
import type { GeneratedRequest } from "./generated-request.ts";

export interface KitVerdict {
  readonly accepts: boolean;
  /** The code of the rejection, or of the secret that no receiver is created with. */
  readonly code?: string;
  readonly secretIndex?: number;
}

const clock = { nowMs: 0, now: () => clock.nowMs, monotonic: () => 0, schedule: () => () => {} };

/** @throws what the kit throws instead of an error of its own: always a bug */
export async function kitVerdict(
  request: GeneratedRequest,
  headers: WebhookHeaders = request.lines.flat(),
): Promise<KitVerdict> {
  try {
    const verifier = kitVerifier(request);
    clock.nowMs = request.nowMs;
    const { secretIndex } = await verifyRequest(verifier, {
      ...{ method: "POST", url: "/webhooks", headers },
      readBody: async () => request.body,
    });
    return { accepts: true, secretIndex };
  } catch (error) {
    if (isReceiverError(error)) return { accepts: false, code: error.code };
    throw error;
  }
}

const kitVerifier = cached(
  ({ secrets, toleranceSeconds }: Draft): Verifier => createVerifier({ secrets, toleranceSeconds, clock }),
);

/** Which of the receiver's secrets a library accepts the request with; -1 for none. */
export type PeerVerdict = (request: GeneratedRequest) => number;

export const standardWebhooks: PeerVerdict = peer(
  (secret) => new Webhook(secret),
  (webhook, body, headers) => webhook.verify(body, headers, { jsonParse: false }),
  (headers) => headers["webhook-timestamp"],
);

export const svix: PeerVerdict = peer(
  (secret) => new SvixWebhook(secret),
  (webhook, body, headers) => {
    try {
      webhook.verify(body, headers);
    } catch (error) {
      // Its signature is accepted: the body is parsed afterwards.
      if (!(error instanceof SyntaxError)) throw error;
    }
  },
  (headers) => headers["svix-timestamp"] ?? headers["webhook-timestamp"],
);

function peer<Verify>(
  create: (secret: string) => Verify,
  verify: (verifier: Verify, body: Buffer, headers: Record<string, string>) => void,
  timestampOf: (headers: Record<string, string>) => string | undefined,
): PeerVerdict {
  const createOne = cached(({ secrets: [secret = ""] }: Pick<Draft, "secrets">) => create(secret));
  return (request) => {
    const headers = nodeHeaders(request.lines);
    return request.secrets.findIndex((secret) => {
      try {
        const verifier = createOne({ secrets: [secret] });
        atTime(peerTimeMs(request, timestampOf(headers)), () => verify(verifier, request.body, headers));
        return true;
      } catch {
        return false;
      }
    });
  };
}

/** The libraries allow 300 s. For another tolerance they are told a time at which their own decision is the right one. */
function peerTimeMs({ nowMs, toleranceSeconds }: GeneratedRequest, timestamp = ""): number {
  if (toleranceSeconds === 300) return nowMs;
  const seconds = Number.parseInt(timestamp, 10);
  const isWithin = Math.abs(Math.floor(nowMs / 1_000) - seconds) <= toleranceSeconds;
  return isWithin ? seconds * 1_000 : (nowSeconds + 1e9) * 1_000;
}

/** The libraries read the clock of the machine. */
function atTime(nowMs: number, run: () => void): void {
  const { now } = Date;
  Date.now = () => nowMs;
  try {
    run();
  } finally {
    Date.now = now;
  }
}

/** Headers as `req.headers` has them: lower case, and repeated ones joined. */
export function nodeHeaders(lines: HeaderLines): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [given, value] of lines) {
    const name = given.toLowerCase();
    headers[name] = name in headers ? `${headers[name]}, ${value}` : value;
  }
  return headers;
}

/** As `req.headersDistinct`. */
export function distinctHeaders(lines: HeaderLines): Record<string, string[]> {
  const headers: Record<string, string[]> = {};
  for (const [given, value] of lines) {
    const name = given.toLowerCase();
    headers[name] = [...(headers[name] ?? []), value];
  }
  return headers;
}

/** Most requests have the same few secrets. */
function cached<Input extends Pick<Draft, "secrets">, Output>(create: (input: Input) => Output) {
  const known = new Map<string, Output>();
  return (input: Input): Output => {
    const { secrets, toleranceSeconds } = input as Partial<Draft>;
    const name = JSON.stringify([secrets, toleranceSeconds]);
    const found = known.get(name);
    if (found !== undefined) return found;
    const created = create(input);
    if (known.size > 500) known.clear();
    known.set(name, created);
    return created;
  };
}
