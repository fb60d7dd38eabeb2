// A receiver that rejects even a valid delivery usually has one mistake. Each near miss is a delivery that is valid for
// a receiver with that mistake: when it is acknowledged, the cause is known.

import { signatureOf } from "@workspace-tasks/receiver-kit/parts";
import { connectHints } from "../connection-errors.ts";
import { type Change, type Changes, describeResult, isAcknowledged } from "./checks/probe-check.ts";
import type { AuditProblem } from "./report.ts";
import { bounded } from "./run-checks.ts";
import type { ProbeResult } from "./target/connection.ts";
import {
  type Delivery,
  keyOf,
  ObserverError,
  sign,
  signaturePrefix,
  signWithKey,
  type Target,
  UnfinishedError,
  UnreachableError,
} from "./target/target.ts";

type ReceivedResponse = Extract<ProbeResult, { kind: "response" }>;

interface Diagnosis extends AuditProblem {
  /** Tries to find the cause with further deliveries; its sentence then replaces the hints. */
  readonly find?: () => Promise<string | undefined>;
}

/** Explains why the valid delivery was not acknowledged. */
export async function diagnose(target: Target, result: ProbeResult): Promise<AuditProblem> {
  const { find, ...problem } = diagnosisOf(target, result);
  if (!find) return problem;
  try {
    const cause = await bounded(target, find);
    return cause === undefined ? problem : { ...problem, hints: [cause] };
  } catch (error) {
    // The receiver or the run ended meanwhile.
    if (error instanceof UnfinishedError) return problem;
    throw error;
  }
}

function diagnosisOf(target: Target, result: ProbeResult): Diagnosis {
  switch (result.kind) {
    case "response":
      return {
        message: `the receiver responded ${result.status} to a valid delivery`,
        ...ofStatus(target, result),
      };
    case "timeout":
      return {
        code: "NO_RESPONSE",
        message: `the receiver did not respond to a valid delivery within ${target.timeoutMs} ms`,
        hints: [
          "A body parser may have read the body before the webhook handler, which then waits for it: mount the handler before any body parser.",
          "If the handler does its work before responding, store the delivery and respond first.",
        ],
        find: () => waitLonger(target),
      };
    case "closed":
      return {
        code: "CLOSED",
        message: "the receiver closed the connection without a response to a valid delivery",
        hints: ["Read its log: it may have crashed.", "An https receiver closes plain http connections."],
        find: () => findCause(target, nearMisses(target, result)),
      };
    case "not-http":
      return {
        code: "NOT_HTTP",
        message: "the server at this URL does not speak HTTP/1.1",
        hints: ["Check the port, and whether the URL must begin with https."],
      };
  }
}

const usualCauses =
  "It has another secret, or its clock is wrong, or something altered the body or the headers before the signature was checked (a body parser, a proxy).";

const statusHints: Readonly<Record<number, string>> = {
  401: `${usualCauses} Or a proxy or a middleware asks for credentials: exempt the route.`,
  403: `${usualCauses} Or a firewall or a protection against CSRF rejects it: exempt the route.`,
  404: "It has no such path: correct the path of the URL.",
  405: "The route exists, but not for POST: correct path or method.",
  413: "Its limit for bodies is below one kilobyte.",
  415: "It rejects application/json.",
  419: "A protection against CSRF rejects it: exempt the route.",
  429: "It limits the number of requests: lift the limit for check-receiver.",
};

function ofStatus(target: Target, response: ReceivedResponse): Omit<Diagnosis, "message"> {
  const { status } = response;
  const hints = [statusHints[status] ?? usualCauses];
  const find = () => findCauseOfRejection(target, response);
  if (status === 404) return { code: "NOT_FOUND", hints };
  if (status === 405) return { code: "WRONG_ROUTE", hints };
  if (status >= 300 && status < 400) return { code: "REDIRECTED", hints: [redirectHint(target, response)] };
  if (status >= 500) {
    return { code: "SERVER_ERROR", hints: ["Read its log: it failed on a valid delivery."], find };
  }
  return [413, 415, 429].includes(status) ? { code: "REJECTED", hints } : { code: "REJECTED", hints, find };
}

/** Names the location without its query, which may be confidential. */
function redirectHint({ url, reveals }: Target, { headers }: ReceivedResponse): string {
  const location = headers.get("location") ?? "";
  if (!URL.canParse(location, url) || reveals(location)) {
    return "A redirect is not followed: register the final URL.";
  }
  const { origin, pathname } = new URL(location, url);
  return `A redirect is not followed: register the final URL, here ${origin}${pathname}.`;
}

async function findCauseOfRejection(target: Target, response: ReceivedResponse): Promise<string | undefined> {
  const cause = await findCause(target, nearMisses(target, response));
  if (cause !== undefined) return cause;
  const forged = await target.send(target.forge());
  if (forged.kind !== "response" || forged.status === response.status) return undefined;
  return `It responds ${forged.status} to a forged delivery: it accepts the signature of the valid one, and rejects the event. Acknowledge events of tasks and workspaces that you do not know, and read its log.`;
}

async function waitLonger(target: Target): Promise<string | undefined> {
  return target.withConnection(async (connection) => {
    const delivery = target.compose();
    void connection.write(target.request(delivery));
    const inFront = await findCause(target, bodyParserInFront);
    if (inFront !== undefined) return inFront;
    const late = await target.receive(delivery, connection, target.stallTimeoutMs);
    if (late.kind !== "response") return undefined;
    return `It responded ${late.status} after ${Math.round(late.durationMs)} ms. A sender that waits so long counts a failure and sends again: store the delivery, acknowledge it, do the work afterwards.`;
  });
}

/** Explains why a run could not start: no connection, no effects to observe, or it was stopped. */
export function problemOf(error: UnfinishedError): AuditProblem {
  if (error instanceof UnreachableError) {
    const hint = connectHints[error.code];
    return {
      code: "UNREACHABLE",
      message: `could not connect to the receiver (${error.code})`,
      hints: [hint ?? "Check the URL, and that the receiver runs and can be reached from here."],
    };
  }
  const { message } = error;
  if (!(error instanceof ObserverError)) return { code: "STOPPED", message, hints: [] };
  const hint =
    'GET <observe-url>?id=<webhook-id> returns { "count": n }, how often the delivery took effect.';
  return { code: "OBSERVE_URL", message, hints: [hint] };
}

/** The cause that the first acknowledged near miss shows; undefined when none is acknowledged. */
async function findCause(target: Target, changes: Changes): Promise<string | undefined> {
  for (const [cause, change] of Object.entries(changes)) {
    const delivery = target.compose();
    const result = await target.send({ ...delivery, ...(await change(delivery, target)) });
    if (isAcknowledged(result))
      return `${cause} (the response to such a delivery: ${describeResult(result)}).`;
    if (result.kind === "timeout") return undefined;
  }
  return undefined;
}

const bodyParserInFront: Changes = {
  "It accepts the same delivery as text/plain: a JSON body parser consumes the body before the signature is checked; mount the webhook route before it":
    () => ({ contentType: "text/plain" }),
};

/** By the cause that each of them shows. `rejected`: how the receiver responded to the valid delivery. */
function nearMisses({ clock, oldSecret }: Target, rejected: ProbeResult): Changes {
  const date = rejected.kind === "response" ? rejected.headers.get("date") : undefined;
  const aheadSeconds = Math.round((Date.parse(date ?? "") - clock.now()) / 1000);
  return {
    "It rejected the first delivery and accepts another one: it was still starting, or it fails now and then":
      () => ({}),
    ...bodyParserInFront,
    ...(Math.abs(aheadSeconds) >= 30 && {
      [`Its clock differs from this machine's by ${aheadSeconds} s, and it accepts a delivery with its own time`]:
        aged(-aheadSeconds),
    }),
    ...keys,
    ...(oldSecret !== undefined && {
      "It knows the secret given as --old-secret, but not the one given as --secret": signed((_, delivery) =>
        sign(delivery, oldSecret),
      ),
    }),
    ...headerNames,
    ...signedContents,
    ...signatureFormats,
    ...times,
  };
}

const signed =
  (sign: (target: Target, delivery: Delivery) => string): Change =>
  (delivery, target) => ({ signature: sign(target, delivery) });

const aged =
  (ageSeconds: number): Change =>
  (_, { compose }) =>
    compose({ ageSeconds });

const keyed = (keyFrom: (secret: string) => Buffer) =>
  signed(({ secret }, delivery) => signWithKey(delivery, keyFrom(secret)));

const decodeIt = "the key is the text after whsec_, decoded from base64";

const keys: Changes = {
  [`It uses the text of the secret as the key, with its whsec_ prefix; ${decodeIt}`]: keyed((secret) =>
    Buffer.from(secret),
  ),
  [`It uses the text of the secret as the key; ${decodeIt}`]: keyed((secret) =>
    Buffer.from(secret.replace(/^whsec_/, "")),
  ),
  [`It decodes the secret together with its whsec_ prefix; ${decodeIt}`]: keyed((secret) =>
    Buffer.from(secret, "base64"),
  ),
};

const renamed =
  (rename: (name: string) => string): Change =>
  () => ({ rename });

const headerNames: Changes = {
  "It reads the headers svix-id, svix-timestamp and svix-signature; the service sends webhook-…": renamed(
    (name) => name.replace("webhook-", "svix-"),
  ),
  "It reads the headers x-webhook-id, x-webhook-timestamp and x-webhook-signature; the service sends webhook-…":
    renamed((name) => `x-${name}`),
  "It finds the headers only as Webhook-Id, Webhook-Timestamp and Webhook-Signature; names of headers have no case":
    renamed((name) => name.replace(/(^|-)[a-z]/g, (text) => text.toUpperCase())),
};

/** Signs another text in place of the body. */
const signedAs = (textOf: (body: string) => string) =>
  signed(({ sign }, delivery) => sign({ ...delivery, body: Buffer.from(textOf(delivery.body.toString())) }));

const sorted = (text: string) =>
  JSON.stringify(Object.fromEntries(Object.entries(JSON.parse(text) as object).toSorted()));

/** Writes JSON as Python's json.dumps does. */
const spaced = (text: string) =>
  JSON.stringify(JSON.parse(text), null, 1).replace(/,\n */g, ", ").replace(/\n */g, "");

const hashed = (contentOf: (delivery: Delivery) => string) =>
  signed(({ secret }, delivery) => signaturePrefix + signatureOf(keyOf(secret), "", contentOf(delivery)));

const rawBytes = "compute the HMAC over the raw bytes of the request body";

const signedContents: Changes = {
  [`It parses the body and serializes it again, with spaces, before hashing, as Python's json.dumps does; ${rawBytes}`]:
    signedAs(spaced),
  [`It parses the body and serializes it again, with sorted keys, before hashing; ${rawBytes}`]:
    signedAs(sorted),
  [`It parses the body and serializes it again, with sorted keys and spaces, before hashing; ${rawBytes}`]:
    signedAs((text) => spaced(sorted(text))),
  [`It parses the body and serializes it again, indented, before hashing; ${rawBytes}`]: signedAs((text) =>
    JSON.stringify(JSON.parse(text), null, 2),
  ),
  [`It adds a newline to the body before hashing; ${rawBytes}`]: signedAs((text) => `${text}\n`),
  "It hashes the body alone; the signed text is `id.timestamp.body`": hashed(({ body }) => body.toString()),
  "It hashes `timestamp.body`; the signed text is `id.timestamp.body`": hashed(
    ({ timestamp, body }) => `${timestamp}.${body}`,
  ),
};

const encoded = ({ signature }: Delivery) => signature.slice(signaturePrefix.length);

const signatureFormats: Changes = {
  "It expects the signature without `v1,` in front; split webhook-signature at spaces, and each part at the comma":
    signed((_, delivery) => encoded(delivery)),
  "It expects the signature in hexadecimal; it is base64": signed(
    (_, delivery) => signaturePrefix + Buffer.from(encoded(delivery), "base64").toString("hex"),
  ),
};

const hours = Array.from({ length: 27 }, (_, index) => index - 12).filter((hour) => hour !== 0);

const times: Changes = {
  "It compares webhook-timestamp with a clock in milliseconds; the header is in seconds": (
    delivery,
    target,
  ) => {
    const timestamp = String(Math.round(target.clock.now()));
    return { timestamp, signature: target.sign({ ...delivery, timestamp }) };
  },
  ...Object.fromEntries(
    hours.map((hour) => [
      `It accepts a delivery dated ${Math.abs(hour)} h ${hour > 0 ? "ahead" : "back"}: its clock or its time zone is wrong; compare seconds since 1970 in UTC`,
      aged(-hour * 3600),
    ]),
  ),
};
