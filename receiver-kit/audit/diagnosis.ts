// A receiver that rejects even a valid delivery usually has one mistake. Each near miss below is a delivery that is
// valid for a receiver with that mistake; when one is acknowledged, the cause is known.

import { describeResult, isAcknowledged, type Probe } from "./checks/probe-check.ts";
import type { AuditProblem } from "./result.ts";
import type { ProbeResult } from "./target/connection.ts";
import type { UnreachableError } from "./target/errors.ts";
import type { HeaderLine } from "./target/signing.ts";
import type { Target } from "./target/target.ts";

interface NearMiss extends Probe {
  readonly cause: string;
}

type ReceivedResponse = Extract<ProbeResult, { kind: "response" }>;

/** Explains why the valid delivery was not acknowledged, with further deliveries where they help. */
export async function diagnose(target: Target, result: ProbeResult): Promise<AuditProblem> {
  switch (result.kind) {
    case "timeout":
      return {
        code: "NO_RESPONSE",
        message: `the receiver did not respond to a valid delivery within ${Math.round(result.durationMs)} ms`,
        hints: [
          "A body parser may have read the body before the webhook handler, which then waits for it: mount the handler before any body parser.",
          "If the handler does its work before responding, store the delivery and respond first.",
        ],
      };
    case "closed":
      return {
        code: "CLOSED",
        message: "the receiver closed the connection without a response to a valid delivery",
        hints: ["Read its log: it may have crashed.", "An https receiver closes plain http connections."],
      };
    case "not-http":
      return {
        code: "NOT_HTTP",
        message: "the server at this URL does not speak HTTP/1.1",
        hints: ["Check the port, and whether the URL must begin with https."],
      };
    case "response":
      return diagnoseStatus(target, result);
  }
}

/** Explains why no connection could be opened. */
export function unreachableProblem({ code }: UnreachableError): AuditProblem {
  const hints: Readonly<Record<string, string>> = {
    ECONNREFUSED: "Nothing listens on that port: start the receiver, or correct the port.",
    ENOTFOUND: "The host name is unknown: correct it.",
    EAI_AGAIN: "The host name could not be resolved: check the network.",
    EPROTO: "The server does not speak TLS: try the URL with http.",
    ERR_SSL_WRONG_VERSION_NUMBER: "The server does not speak TLS: try the URL with http.",
    DEPTH_ZERO_SELF_SIGNED_CERT: "Its certificate is self-signed: add it to NODE_EXTRA_CA_CERTS.",
    SELF_SIGNED_CERT_IN_CHAIN: "Its certificate authority is unknown: add it to NODE_EXTRA_CA_CERTS.",
    CERT_HAS_EXPIRED: "Its certificate has expired.",
    ERR_TLS_CERT_ALTNAME_INVALID: "Its certificate is for another host name.",
  };
  return {
    code: "UNREACHABLE",
    message: `could not connect to the receiver (${code})`,
    hints: [hints[code] ?? "Check the URL, and that the receiver runs and can be reached from here."],
  };
}

async function diagnoseStatus(target: Target, response: ReceivedResponse): Promise<AuditProblem> {
  const { status } = response;
  const problem = (code: AuditProblem["code"], hint: string): AuditProblem => {
    return { code, message: `the receiver responded ${status} to a valid delivery`, hints: [hint] };
  };
  if (status === 404) return problem("NOT_FOUND", "It has no such path: correct the path of the URL.");
  if (status === 405) {
    return problem("WRONG_ROUTE", "The route exists, but not for POST: correct path or method.");
  }
  if (status >= 300 && status < 400) {
    return problem("REDIRECTED", "A redirect is not followed: register and check the final URL.");
  }
  const cause = (await acknowledgedNearMiss(target, response)) ?? usualCause(status);
  return problem(status >= 500 ? "SERVER_ERROR" : "REJECTED", cause);
}

function usualCause(status: number): string {
  if (status >= 500) {
    return "Read its log: it failed on a valid delivery. A body parser that runs before the handler is the usual cause.";
  }
  if (status === 429) return "It limits the number of requests: lift the limit for check-receiver.";
  if (status === 413) return "Its limit for bodies is below one kilobyte.";
  if (status === 415) return "It rejects application/json.";
  return "It has another secret, or its clock is wrong, or something altered the body or the headers before the signature was checked (a body parser, a proxy).";
}

async function acknowledgedNearMiss(target: Target, response: ReceivedResponse): Promise<string | undefined> {
  for (const { cause, delivery, options } of nearMisses(target, response)) {
    const result = await target.send(delivery, options);
    if (isAcknowledged(result))
      return `${cause} (the response to such a delivery: ${describeResult(result)}).`;
  }
  return undefined;
}

function nearMisses(target: Target, response: ReceivedResponse): readonly NearMiss[] {
  return [
    {
      cause:
        "It accepts the same delivery as text/plain: a JSON body parser consumes the body before the signature is checked; mount the webhook route before it",
      delivery: target.compose(),
      options: { contentType: "text/plain" },
    },
    ...otherClock(target, response),
    ...otherSecrets(target),
    withSvixHeaders(target),
  ];
}

function withSvixHeaders(target: Target): NearMiss {
  const delivery = target.compose();
  const headers = target.signing
    .headers(delivery)
    .map(([name, value]): HeaderLine => [name.replace("webhook-", "svix-"), value]);
  const cause =
    "It reads the headers svix-id, svix-timestamp and svix-signature; the service sends webhook-…";
  return { cause, delivery, options: { headers } };
}

function otherClock(target: Target, response: ReceivedResponse): readonly NearMiss[] {
  const theirs = Date.parse(response.headers.get("date") ?? "");
  const aheadSeconds = Math.round((theirs - target.clock.now()) / 1000);
  if (Number.isNaN(aheadSeconds) || Math.abs(aheadSeconds) < 30) return [];
  const cause = `Its clock differs from this machine's by ${aheadSeconds} s, and it accepts a delivery with its own time`;
  return [{ cause, delivery: target.compose({ ageSeconds: -aheadSeconds }) }];
}

function otherSecrets(target: Target): readonly NearMiss[] {
  const { signing, secret, oldSecret } = target;
  const keyedByText = (text: string, cause: string): NearMiss => {
    const delivery = target.compose();
    const signature = signing.signWithKey(delivery, Buffer.from(text, "utf8"));
    return { cause, delivery: { ...delivery, signature } };
  };
  const undecoded = "It uses the text of the secret as the key";
  const decodeIt = "the key is the text after whsec_, decoded from base64";
  const misses = [
    keyedByText(secret, `${undecoded}, with its whsec_ prefix; ${decodeIt}`),
    keyedByText(secret.replace(/^whsec_/, ""), `${undecoded}; ${decodeIt}`),
  ];
  if (oldSecret === undefined) return misses;
  const delivery = target.compose();
  const signature = signing.sign(delivery, oldSecret);
  const cause = "It knows the secret given as --old-secret, but not the one given as --secret";
  return [...misses, { cause, delivery: { ...delivery, signature } }];
}
