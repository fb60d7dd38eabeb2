// A receiver that rejects even a valid delivery usually has one mistake. Each near miss below is a delivery that is
// valid for a receiver with that mistake; when one is acknowledged, the cause is known.

import { type Change, type Changes, describeResult, isAcknowledged } from "./checks/probe-check.ts";
import type { AuditProblem } from "./result.ts";
import type { ProbeResult } from "./target/connection.ts";
import type { UnreachableError } from "./target/errors.ts";
import type { HttpResponse } from "./target/response-reader.ts";
import type { Target } from "./target/target.ts";

/** Explains why the valid delivery was not acknowledged, with further deliveries where they help. */
export async function diagnose(target: Target, result: ProbeResult): Promise<AuditProblem> {
  if (result.kind !== "response") return unanswered[result.kind];
  const { status } = result;
  const message = `the receiver responded ${status} to a valid delivery`;
  const known = status >= 300 && status < 400 ? redirected : statusProblems[status];
  if (known) return problem(known[0], message, known[1]);
  const cause = await acknowledgedNearMiss(target, result);
  return status >= 500
    ? problem("SERVER_ERROR", message, cause ?? failedHint)
    : problem("REJECTED", message, cause ?? rejectedHint);
}

type Code = AuditProblem["code"];

const problem = (code: Code, message: string, ...hints: string[]): AuditProblem => ({ code, message, hints });

const unanswered: Readonly<Record<"timeout" | "closed" | "not-http", AuditProblem>> = {
  timeout: problem(
    "NO_RESPONSE",
    "the receiver did not respond to a valid delivery in time",
    "A body parser may have read the body before the webhook handler, which then waits for it: mount the handler before any body parser.",
    "If the handler does its work before responding, store the delivery and respond first.",
  ),
  closed: problem(
    "CLOSED",
    "the receiver closed the connection without a response to a valid delivery",
    "Read its log: it may have crashed.",
    "An https receiver closes plain http connections.",
  ),
  "not-http": problem(
    "NOT_HTTP",
    "the server at this URL does not speak HTTP/1.1",
    "Check the port, and whether the URL must begin with https.",
  ),
};

const redirected = ["REDIRECTED", "A redirect is not followed: register and check the final URL."] as const;

const statusProblems: Readonly<Record<number, readonly [code: Code, hint: string]>> = {
  404: ["NOT_FOUND", "It has no such path: correct the path of the URL."],
  405: ["WRONG_ROUTE", "The route exists, but not for POST: correct path or method."],
  413: ["REJECTED", "Its limit for bodies is below one kilobyte."],
  415: ["REJECTED", "It rejects application/json."],
  429: ["REJECTED", "It limits the number of requests: lift the limit for check-receiver."],
};

const failedHint =
  "Read its log: it failed on a valid delivery. A body parser that runs before the handler is the usual cause.";
const rejectedHint =
  "It has another secret, or its clock is wrong, or something altered the body or the headers before the signature was checked (a body parser, a proxy).";

const connectHints: Readonly<Record<string, string>> = {
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

/** Explains why no connection could be opened. */
export const unreachableProblem = ({ code }: UnreachableError): AuditProblem =>
  problem(
    "UNREACHABLE",
    `could not connect to the receiver (${code})`,
    connectHints[code] ?? "Check the URL, and that the receiver runs and can be reached from here.",
  );

async function acknowledgedNearMiss(target: Target, response: HttpResponse): Promise<string | undefined> {
  for (const [cause, change] of Object.entries(nearMisses(target, response))) {
    const delivery = target.compose();
    const result = await target.send({ ...delivery, ...(await change(delivery, target)) });
    if (isAcknowledged(result))
      return `${cause} (the response to such a delivery: ${describeResult(result)}).`;
  }
  return undefined;
}

/** By the cause that each of them shows. */
function nearMisses(target: Target, response: HttpResponse): Changes {
  const aheadMs = Date.parse(response.headers.get("date") ?? "") - target.clock.now();
  const aheadSeconds = Math.round(aheadMs / 1000);
  const { oldSecret } = target;
  const decodeIt = "the key is the text after whsec_, decoded from base64";
  return {
    "It accepts the same delivery as text/plain: a JSON body parser consumes the body before the signature is checked; mount the webhook route before it":
      () => ({ contentType: "text/plain" }),
    ...(Math.abs(aheadSeconds) >= 30 && {
      [`Its clock differs from this machine's by ${aheadSeconds} s, and it accepts a delivery with its own time`]:
        (_, { compose }) => compose({ ageSeconds: -aheadSeconds }),
    }),
    [`It uses the text of the secret as the key, with its whsec_ prefix; ${decodeIt}`]: keyedByText(
      (text) => text,
    ),
    [`It uses the text of the secret as the key; ${decodeIt}`]: keyedByText((text) =>
      text.replace(/^whsec_/, ""),
    ),
    ...(oldSecret !== undefined && {
      "It knows the secret given as --old-secret, but not the one given as --secret": (
        delivery,
        { signing },
      ) => ({
        signature: signing.sign(delivery, oldSecret),
      }),
    }),
    "It reads the headers svix-id, svix-timestamp and svix-signature; the service sends webhook-…": () => ({
      rename: (name) => name.replace("webhook-", "svix-"),
    }),
  };
}

const keyedByText =
  (textOf: (secret: string) => string): Change =>
  (delivery, { signing, secret }) => ({
    signature: signing.signWithKey(delivery, Buffer.from(textOf(secret), "utf8")),
  });
