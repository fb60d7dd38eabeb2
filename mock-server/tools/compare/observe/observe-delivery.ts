import { jsonOrUndefined } from "@workspace-tasks/kernel/json.ts";
import { isPlainObject } from "@workspace-tasks/kernel/plain-object.ts";
import { secretForm, signatureOf } from "@workspace-tasks/mock-server/parts";
import { contractNames, isWord } from "./contract-words.ts";
import { type DeliveryShape, deliveriesProbe, type Observation, type Shape } from "./observation.ts";
import { createPseudonyms, type Pseudonyms, plainTextTag } from "./redact-data.ts";

/** An attempt as a receiver got it. Lives in memory, or in a file of the user. */
export interface CapturedDelivery {
  readonly receivedAtMs: number;
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  readonly responded: number | null;
}

export interface Captured {
  readonly deliveries: readonly CapturedDelivery[];
  /** Secrets of the endpoint, the newest first. */
  readonly secrets: readonly string[];
}

export function observeDeliveries({ deliveries, secrets }: Captured): Observation {
  const pseudonyms = createPseudonyms(deliveries[0]?.receivedAtMs ?? 0);
  return {
    probe: deliveriesProbe,
    atMs: 0,
    outcome: "deliveries",
    deliveries: deliveries.map((delivery) => observeDelivery(delivery, secrets, pseudonyms)),
  };
}

function observeDelivery(
  { receivedAtMs, headers, body, responded }: CapturedDelivery,
  secrets: readonly string[],
  pseudonyms: Pseudonyms,
): DeliveryShape {
  const {
    "webhook-id": id = "",
    "webhook-timestamp": timestamp = "",
    "webhook-signature": signature = "",
  } = headers;
  const isSeconds = /^\d{10}$/.test(timestamp);
  return {
    atMs: receivedAtMs - pseudonyms.startedAtMs,
    headers: Object.keys(headers)
      .filter((name) => /^webhook-[a-z-]{1,30}$/.test(name))
      .toSorted(),
    contentType:
      /^[a-z]+\/[a-z0-9.+-]{1,60}/i.exec(headers["content-type"] ?? "")?.[0]?.toLowerCase() ?? "none",
    id: pseudonyms.numberOf(`id ${id}`),
    body: pseudonyms.numberOf(`body ${body.toString("base64")}`),
    timestamp: isSeconds ? "seconds" : timestamp === "" ? "none" : "another form",
    ageSeconds: isSeconds ? Math.round(receivedAtMs / 1_000 - Number(timestamp)) : 0,
    signatures: signature
      .split(" ")
      .filter(Boolean)
      .map((token) => observeSignature(token, { id, timestamp, body, secrets })),
    responded,
    payload: redactPayload(jsonOrUndefined(body.toString("utf8")), pseudonyms, 0, ""),
  };
}

interface Signed {
  readonly id: string;
  readonly timestamp: string;
  readonly body: Buffer;
  readonly secrets: readonly string[];
}

function observeSignature(token: string, { id, timestamp, body, secrets }: Signed) {
  const version = /^v\d{1,2}[a-z]?(?=,)/.exec(token)?.[0] ?? "unknown";
  // Whether the signed time is right is another rule's.
  const at = new Date(Number(timestamp) * 1_000);
  const secret = secrets.findIndex(
    (each) => secretForm.test(each) && signatureOf(each, { id, at, body }) === token,
  );
  return { version, secret: secret < 0 ? null : secret };
}

/** Fields with words of the service, by the field that they are in. */
const wordFields = new Set([
  ".event",
  ".version",
  ".status",
  ".taskType",
  ".subTaskType",
  "taxPrepResult.returnType",
  "customerError.code",
  "action.type",
]);

function redactPayload(
  value: unknown,
  pseudonyms: Pseudonyms,
  depth: number,
  name: string,
  parent = "",
): Shape {
  if (value === undefined) return "not JSON";
  if (value === null || typeof value === "boolean") return value;
  if (typeof value === "number") return Number.isInteger(value) ? "int" : "float";
  if (typeof value === "string") {
    if (wordFields.has(`${parent}.${name}`) && (isWord(value) || /^\d{1,3}$/.test(value)))
      return `word:${value}`;
    return plainTextTag(value, name, pseudonyms);
  }
  if (Array.isArray(value)) return value.map((item) => redactPayload(item, pseudonyms, depth + 1, name, "…"));
  if (!isPlainObject(value)) return "object";
  // Names below the first level may be data; those of the contract are not.
  const isName = (key: string) =>
    isWord(key) && (depth === 0 || contractNames().has(key) || nestedNames.has(key));
  const entries = Object.entries(value).map(([key, inner]): [string, Shape] => [
    isName(key) ? key : "…",
    redactPayload(inner, pseudonyms, depth + 1, key, name),
  ]);
  return Object.fromEntries(entries);
}

const nestedNames = new Set(["code", "action", "connectionId", "inputDocumentId", "fileName", "mimeType"]);
