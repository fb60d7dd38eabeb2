import { describeAnswer, isAcknowledged } from "./checks/probe-check.ts";
import type { AuditProblem } from "./result.ts";
import type { Delivery, HeaderLine } from "./target/scheme.ts";
import type { Reply, SendOptions, Target, UnreachableError } from "./target/target.ts";

// A receiver that refuses even a valid delivery is usually right except for one thing. Each near miss below
// is a delivery that is valid for such a receiver; when one passes, the cause is known.

type NearMiss = {
  readonly cause: string;
  readonly delivery: Delivery;
  readonly options?: SendOptions;
};

/** Says why the valid delivery was not acknowledged, as precisely as further deliveries can tell. */
export async function diagnose(target: Target, answer: Reply): Promise<AuditProblem> {
  switch (answer.kind) {
    case "silent":
      return {
        code: "NO_ANSWER",
        message: `the receiver gave no answer to a valid delivery within ${Math.round(answer.durationMs)} ms`,
        hints: [
          "Something may have read the body before the webhook handler, which then waits for it for ever: mount the handler before any body parser.",
          "If the handler does its work before answering, store the delivery and answer first.",
        ],
      };
    case "closed":
      return {
        code: "CLOSED",
        message: "the receiver closed the connection without an answer to a valid delivery",
        hints: ["Look into its log: it may have crashed.", "An https receiver closes what is sent as http."],
      };
    case "garbled":
      return {
        code: "NOT_HTTP",
        message: "what answers there does not speak HTTP/1.1",
        hints: ["Check the port, and whether the URL has to begin with https."],
      };
    case "answered":
      return diagnoseStatus(target, answer);
  }
}

/** Why nothing could be sent at all. */
export function unreachableProblem({ code }: UnreachableError): AuditProblem {
  const hints: Readonly<Record<string, string>> = {
    ECONNREFUSED: "Nothing listens on that port: start the receiver, or correct the port.",
    ENOTFOUND: "The host name is not known: correct it.",
    EAI_AGAIN: "The host name could not be looked up: check the network.",
    EPROTO: "The other side does not speak TLS: try the URL with http.",
    ERR_SSL_WRONG_VERSION_NUMBER: "The other side does not speak TLS: try the URL with http.",
    DEPTH_ZERO_SELF_SIGNED_CERT: "Its certificate is self-signed: name it in NODE_EXTRA_CA_CERTS.",
    SELF_SIGNED_CERT_IN_CHAIN: "Its certificate authority is unknown: name it in NODE_EXTRA_CA_CERTS.",
    CERT_HAS_EXPIRED: "Its certificate has expired.",
    ERR_TLS_CERT_ALTNAME_INVALID: "Its certificate is for another name.",
  };
  return {
    code: "UNREACHABLE",
    message: `could not connect to the receiver (${code})`,
    hints: [hints[code] ?? "Check the URL, and that the receiver runs and can be reached from here."],
  };
}

async function diagnoseStatus(
  target: Target,
  answer: Extract<Reply, { kind: "answered" }>,
): Promise<AuditProblem> {
  const { status } = answer;
  const message = `the receiver answered ${status} to a valid delivery`;
  if (status === 404) {
    return { code: "NOT_FOUND", message, hints: ["Its path is not this one: correct the path of the URL."] };
  }
  if (status === 405) {
    return {
      code: "WRONG_ROUTE",
      message,
      hints: ["The route exists, but not for POST: correct path or method."],
    };
  }
  if (status >= 300 && status < 400) {
    const hint = "A redirect is not followed: register and audit the final URL.";
    return { code: "REDIRECTED", message, hints: [hint] };
  }
  const cause = await firstAcknowledged(target, answer);
  const hints = cause === undefined ? [usualCause(status)] : [cause];
  return { code: status >= 500 ? "SERVER_ERROR" : "REFUSED", message, hints };
}

function usualCause(status: number): string {
  if (status >= 500) {
    return "Look into its log: it failed on a valid delivery. A body parser that runs before the handler is the usual cause.";
  }
  if (status === 429) return "It limits the number of requests: lift the limit for the audit.";
  if (status === 413) return "Its limit for bodies is below one kilobyte.";
  if (status === 415) return "It refuses application/json.";
  return "Its secret is another one, or its clock is wrong, or something altered the body or the headers before the signature was checked (a body parser, a proxy).";
}

async function firstAcknowledged(
  target: Target,
  answer: Extract<Reply, { kind: "answered" }>,
): Promise<string | undefined> {
  for (const { cause, delivery, options } of nearMisses(target, answer)) {
    const second = await target.send(delivery, options);
    if (isAcknowledged(second)) return `${cause} (such a delivery was answered ${describeAnswer(second)}).`;
  }
  return undefined;
}

function nearMisses(target: Target, answer: Extract<Reply, { kind: "answered" }>): readonly NearMiss[] {
  const asText: NearMiss = {
    cause:
      "It accepts the same delivery as text/plain: a JSON body parser consumes the body before the signature is checked; mount the webhook route before it",
    delivery: target.compose(),
    options: { contentType: "text/plain" },
  };
  if (target.scheme.name !== "standard-webhooks") return [asText];
  return [
    asText,
    ...otherClock(target, answer),
    ...otherSecrets(target),
    {
      cause: "It reads the headers svix-id, svix-timestamp and svix-signature; the service sends webhook-…",
      ...withSvixHeaders(target),
    },
  ];
}

function withSvixHeaders(target: Target): { delivery: Delivery; options: SendOptions } {
  const delivery = target.compose();
  const headers = target.scheme
    .headers(delivery)
    .map(([name, value]): HeaderLine => [name.replace("webhook-", "svix-"), value]);
  return { delivery, options: { headers } };
}

function otherClock(target: Target, answer: Extract<Reply, { kind: "answered" }>): readonly NearMiss[] {
  const theirs = Date.parse(answer.headers.get("date") ?? "");
  const aheadSeconds = Math.round((theirs - target.clock.now()) / 1000);
  if (Number.isNaN(aheadSeconds) || Math.abs(aheadSeconds) < 30) return [];
  return [
    {
      cause: `Its clock differs from this machine's by ${aheadSeconds} s, and it accepts a delivery dated by its own`,
      delivery: target.compose({ ageSeconds: -aheadSeconds }),
    },
  ];
}

function otherSecrets(target: Target): readonly NearMiss[] {
  const byText = (text: string, cause: string): NearMiss => {
    const delivery = target.compose();
    const signature = target.signWithKey(delivery, Buffer.from(text, "utf8"));
    return { cause, delivery: { ...delivery, signature } };
  };
  const { secret, oldSecret } = target;
  const undecoded = "It uses the text of the secret as the key";
  const decodeIt = "the key is what follows whsec_, decoded from base64";
  const misses = [
    byText(secret, `${undecoded}, with its whsec_ prefix; ${decodeIt}`),
    byText(secret.replace(/^whsec_/, ""), `${undecoded}; ${decodeIt}`),
  ];
  if (oldSecret === undefined) return misses;
  const delivery = target.compose();
  const signature = target.signWithSecret(delivery, oldSecret);
  const cause = "It knows the secret given as --old-secret, but not the one given as --secret";
  return [...misses, { cause, delivery: { ...delivery, signature } }];
}
