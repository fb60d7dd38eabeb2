// The verifier of the kit and that of another library behind one question: does it accept this request?

import { Webhook } from "standardwebhooks";
import { isReceiverError } from "../../../receiver-kit/errors.ts";
import { verifyRequest } from "../../../receiver-kit/http/webhook-handler.ts";
import { createVerifier } from "../../../receiver-kit/signature/verifier.ts";
import type { GeneratedRequest } from "./generated-request.ts";
import type { HeaderLines } from "./random-changes.ts";

/** @throws what the kit throws instead of an error of its own: always a bug */
export async function kitAccepts({ secrets, nowMs, lines, body }: GeneratedRequest): Promise<boolean> {
  try {
    const clock = { now: () => nowMs, monotonic: () => 0, schedule: () => () => {} };
    await verifyRequest(createVerifier({ secrets, clock }), {
      ...{ method: "POST", url: "/webhooks", headers: lines.flat() },
      readBody: async () => body,
    });
    return true;
  } catch (error) {
    if (isReceiverError(error)) return false;
    throw error;
  }
}

export function libraryAccepts({ secrets, nowMs, lines, body }: GeneratedRequest): boolean {
  const headers = nodeHeaders(lines);
  return secrets.some((secret) => {
    try {
      const webhook = new Webhook(secret);
      atTime(nowMs, () => webhook.verify(body, headers, { jsonParse: false }));
      return true;
    } catch {
      return false;
    }
  });
}

/** The library reads the clock of the machine. */
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
