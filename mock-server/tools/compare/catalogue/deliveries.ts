import { type KnownEventName, payloadJsonSchema } from "@workspace-tasks/events";
import { eventCatalog } from "@workspace-tasks/events/catalog";
import { getOrCreate } from "@workspace-tasks/kernel/cache.ts";
import { isPlainObject } from "@workspace-tasks/kernel/plain-object.ts";
import { defaultSettings } from "@workspace-tasks/mock-server/parts";
import { eventNames } from "../observe/contract-words.ts";
import {
  type DeliveryShape,
  deliveriesProbe,
  type Fields,
  fieldsOf,
  type Shape,
} from "../observe/observation.ts";
import { summarizeSchema } from "../observe/summarize-schema.ts";
import { timeOf, wordOf } from "../rules/read-response.ts";
import {
  type About,
  type Fact,
  hasEach,
  type Rule,
  ruleAcross,
  sameOf,
  type Unknown,
} from "../rules/rule.ts";

const deliveryRule = (
  id: string,
  title: string,
  about: About,
  read: (deliveries: readonly DeliveryShape[]) => Fact | Unknown,
): Rule =>
  ruleAcross(`deliveries.${id}`, title, "nothing: the service sends deliveries", about, (seen) => {
    const observation = seen.get(deliveriesProbe);
    if (observation?.outcome === "failed") return { unknown: observation.reason };
    if (observation?.outcome !== "deliveries") return { unknown: "needs --deliveries" };
    if (observation.deliveries.length === 0)
      return { unknown: "no delivery arrived: start a task in the web app" };
    return read(observation.deliveries);
  });

const eventOf = (delivery: DeliveryShape): string => wordOf(fieldsOf(delivery.payload)["event"]) ?? "none";

function groupBy<Key>(
  deliveries: readonly DeliveryShape[],
  keyOf: (delivery: DeliveryShape) => Key,
): ReadonlyMap<Key, readonly DeliveryShape[]> {
  const groups = new Map<Key, DeliveryShape[]>();
  for (const delivery of deliveries) getOrCreate(groups, keyOf(delivery), () => []).push(delivery);
  return groups;
}

const distinct = (values: readonly string[]): Fact => [...new Set(values)].toSorted();

/** Whether a value is of a type of the summary of a schema, such as `null|string`. */
function fits(value: Shape, types: string): boolean {
  if (types === "any") return true;
  const allowed = types.split("|");
  if (value === null) return allowed.includes("null");
  if (Array.isArray(value)) return allowed.includes("array");
  if (typeof value === "boolean") return allowed.includes("boolean");
  if (typeof value === "object") return allowed.includes("object");
  if (value === "int") return allowed.includes("integer") || allowed.includes("number");
  if (value === "float") return allowed.includes("number");
  return allowed.includes("string");
}

const nullable = new Set(["taxPrepResult", "customerError"]);

/** What is wrong with a payload: fields that are missing, not expected or of another type. */
function payloadIssues(fields: Fields, expected: Fields, place = ""): readonly string[] {
  const missing = Object.keys(expected).filter((name) => !Object.hasOwn(fields, name.replace("?", "")));
  const known = new Set(Object.keys(expected).map((name) => name.replace("?", "")));
  const added = Object.keys(fields).filter((name) => !known.has(name));
  const wrong = Object.entries(expected).flatMap(([mark, types]) => {
    const name = mark.replace("?", "");
    const value = fields[name];
    if (value === undefined) return [];
    if (isPlainObject(types)) {
      if (value === null) return nullable.has(name) ? [] : [`${place}${name}: null`];
      return isPlainObject(value)
        ? payloadIssues(fieldsOf(value), fieldsOf(types), `${place}${name}.`)
        : [`${place}${name}: no object`];
    }
    return fits(value, String(types)) ? [] : [`${place}${name}: expected ${String(types)}`];
  });
  return [
    ...missing.map((name) => `${place}${name}: missing`),
    ...added.map((name) => `${place}${name}: not expected`),
    ...wrong,
  ];
}

const summaryOf = (name: KnownEventName) =>
  getOrCreate(summaries, name, () => summarizeSchema(payloadJsonSchema(name)) as Fields);
const summaries = new Map<KnownEventName, Fields>();

const payloadRule = (name: KnownEventName): Rule =>
  deliveryRule(
    `payload-${name}`,
    `the body of ${name} has the fields and types of its schema`,
    name === "documents.synced"
      ? {
          assumptions: ["A-10"],
          keeps: (_, issues) =>
            !hasIssue(issues, /^(connectionId|providerKey|sourceExternalId|duplicateCount):/),
        }
      : { assumptions: ["A-34"], keeps: (_, issues) => !hasIssue(issues, /(?<!: not expected)$/) },
    (deliveries) => {
      const own = deliveries.filter((delivery) => eventOf(delivery) === name);
      if (own.length === 0) return { unknown: `no ${name} arrived` };
      return distinct(own.flatMap((delivery) => payloadIssues(fieldsOf(delivery.payload), summaryOf(name))));
    },
  );

const hasIssue = (issues: Fact, about: RegExp) =>
  (issues as readonly string[]).some((issue) => about.test(issue));

/** A delivery that arrives this much later than the fastest one after its event is a retry, or was held up. */
const lateMs = 4_000;

/** Time from an event to the arrival of an attempt, without the difference between the two clocks. */
function lagsOf(deliveries: readonly DeliveryShape[]): ReadonlyMap<DeliveryShape, number> {
  const lags = deliveries.flatMap((delivery): [DeliveryShape, number][] => {
    const occurred = timeOf(fieldsOf(delivery.payload)["occurredAt"]);
    return occurred === null ? [] : [[delivery, delivery.atMs - occurred]];
  });
  const least = Math.min(...lags.map(([, lag]) => lag));
  return new Map(lags.map(([delivery, lag]) => [delivery, lag - least]));
}

/**
 * The waits, in milliseconds, of the delivery that was attempted most often until it was accepted, of those whose first
 * attempt arrived as soon after its event as others do. A receiver that missed it saw a later part of the schedule.
 */
function waitsOf(deliveries: readonly DeliveryShape[]): readonly number[] {
  const lags = lagsOf(deliveries);
  const runs = [...groupBy(deliveries, ({ id }) => id).values()].flatMap((attempts) => {
    if (!attempts[0] || (lags.get(attempts[0]) ?? 0) > lateMs) return [];
    // What arrives after an accepted attempt is sent again for another reason.
    const accepted = attempts.findIndex(({ responded }) => responded !== null && responded < 300);
    return [accepted < 0 ? attempts : attempts.slice(0, accepted + 1)];
  });
  const [most = []] = runs.toSorted((a, b) => b.length - a.length);
  return most.slice(1).map(({ atMs }, index) => atMs - (most[index]?.atMs ?? 0));
}

/** Waits differ by network, queues and jitter. The mock may have been observed for a shorter time. */
const waitsAgree = (expected: Fact, received: Fact): boolean => {
  const [schedule, waits] = [expected as readonly number[], received as readonly number[]];
  return waits.every((wait, index) => {
    const wanted = schedule[index];
    return wanted === undefined || Math.abs(wanted - wait) <= Math.max(3_000, wanted / 4);
  });
};

/** A difference of the clocks is the same for every delivery; a wrong time is not. */
function timestampFact(deliveries: readonly DeliveryShape[]): Fact | Unknown {
  const forms = distinct(deliveries.map(({ timestamp }) => timestamp));
  const ages = deliveries.map(({ ageSeconds }) => ageSeconds).toSorted((a, b) => a - b);
  const median = ages[Math.floor(ages.length / 2)] ?? 0;
  const isEven = ages.every((age) => Math.abs(age - median) <= clockSecondsMax);
  if (
    isEven &&
    Math.abs(median) > clockSecondsMax &&
    deliveries.every(({ timestamp }) => timestamp === "seconds")
  )
    return { unknown: `the receiver's clock and the service's differ by about ${Math.abs(median)} s` };
  return { forms, recent: isEven };
}

const clockSecondsMax = 60;

/** A file may be of several endpoints, or its secret of another one. */
function verifiedOf(deliveries: readonly DeliveryShape[]): string {
  const { length } = deliveries.filter(({ signatures }) => signatures.some(({ secret }) => secret !== null));
  if (length === deliveries.length) return "yes";
  const share = length === 0 ? "none" : `${length} of ${deliveries.length}`;
  return `${share}; a file may have deliveries of another endpoint than the secret`;
}

function rotationFact(deliveries: readonly DeliveryShape[]): Fact | Unknown {
  const several = deliveries.find(({ signatures }) => signatures.length > 1);
  if (!several)
    return { unknown: "no delivery has two signatures: rotate the secret, and pass both, the new one first" };
  if (several.signatures.some(({ secret }) => secret === null))
    return { unknown: "a signature is of a secret that was not passed: pass both, the new one first" };
  return several.signatures.map(({ secret }) => (secret === 0 ? "newest" : "older"));
}

const signatureRules: readonly Rule[] = [
  deliveryRule(
    "headers",
    "a delivery has the three headers of Standard Webhooks",
    { assumptions: ["A-35"], keeps: hasEach },
    (deliveries) => distinct(deliveries.flatMap(({ headers }) => headers)),
  ),
  deliveryRule("content-type", "the body is application/json", ["A-35"], (deliveries) =>
    distinct(deliveries.map(({ contentType }) => contentType)),
  ),
  deliveryRule(
    "signature",
    "every delivery has a v1 signature that verifies",
    { assumptions: ["A-9"], keeps: sameOf("verify") },
    (deliveries) => ({
      versions: distinct(deliveries.flatMap(({ signatures }) => signatures.map(({ version }) => version))),
      verify: verifiedOf(deliveries),
    }),
  ),
  deliveryRule(
    "timestamp",
    "webhook-timestamp is the time of the attempt in seconds",
    { assumptions: ["A-11"], keeps: sameOf("forms") },
    timestampFact,
  ),
  deliveryRule("rotation", "during a rotation the newest secret signs first", ["A-9"], rotationFact),
  deliveryRule("repeats", "a retry has the same webhook-id and body", ["A-11"], (deliveries) => {
    const repeated = [...groupBy(deliveries, ({ id }) => id).values()].filter(({ length }) => length > 1);
    if (repeated.length === 0) return { unknown: "no delivery was sent twice" };
    return repeated.every((attempts) => new Set(attempts.map(({ body }) => body)).size === 1);
  }),
  deliveryRule(
    "retry-waits",
    "retries follow after 5 s, 5 min, 30 min and more",
    {
      assumptions: ["A-11"],
      agrees: waitsAgree,
      settings(received) {
        const waits = (received as readonly number[]).map((wait) => Math.round(wait / 1_000) * 1_000);
        const { scheduleMs } = defaultSettings.delivery;
        return { delivery: { scheduleMs: [0, ...waits, ...scheduleMs.slice(waits.length + 1)] } };
      },
    },
    (deliveries) => {
      const waits = waitsOf(deliveries);
      return waits.length > 0 ? waits : { unknown: "no retry arrived while the receiver listened" };
    },
  ),
];

/** Values that the deliveries have, each of which the mock knows. */
const knownRule = (
  id: string,
  title: string,
  absent: string,
  read: (delivery: DeliveryShape) => string | null,
  assumptions: readonly string[] = [],
): Rule =>
  deliveryRule(
    id,
    title,
    { assumptions, agrees: (expected, received) => hasEach(received, expected) },
    (deliveries) => {
      const values = deliveries.flatMap((delivery) => read(delivery) ?? []);
      return values.length === 0 ? { unknown: absent } : distinct(values);
    },
  );

/** Code and action of a customerError. */
function customerErrorOf(delivery: DeliveryShape): string | null {
  const error = fieldsOf(delivery.payload)["customerError"];
  if (!isPlainObject(error)) return null;
  const { code, action } = fieldsOf(error);
  return `${wordOf(code) ?? "…"} / ${wordOf(fieldsOf(action)["type"]) ?? "…"}`;
}

function hasStatusOfName(delivery: DeliveryShape): boolean {
  const { status, version } = fieldsOf(delivery.payload);
  const [noun, suffix = ""] = eventOf(delivery).split(".");
  const isOfTask = noun === "task" || noun === "subtask";
  return version === "word:2" && (!isOfTask || wordOf(status)?.toLowerCase() === suffix);
}

/** Whether the events of each task arrived in the order in which they happened. */
function orderFact(deliveries: readonly DeliveryShape[]): Fact | Unknown {
  const lags = lagsOf(deliveries);
  const first = [...groupBy(deliveries, ({ id }) => id).values()].flatMap(([attempt]) =>
    attempt && (lags.get(attempt) ?? Number.POSITIVE_INFINITY) <= lateMs ? [attempt] : [],
  );
  const ofTasks = first.filter((delivery) => typeof fieldsOf(delivery.payload)["taskId"] === "string");
  const byTask = [...groupBy(ofTasks, (delivery) => String(fieldsOf(delivery.payload)["taskId"])).values()];
  if (!byTask.some((own) => own.length > 1)) return { unknown: "no two events of one task arrived at once" };
  return byTask.every((own) => {
    const times = own.map((delivery) => timeOf(fieldsOf(delivery.payload)["occurredAt"]) ?? 0);
    return times.every((time, index) => time + swapMsMax >= Math.max(...times.slice(0, index + 1)));
  });
}

const eventRules: readonly Rule[] = [
  ...eventCatalog.map(({ name }) => payloadRule(name as KnownEventName)),
  knownRule("names", "every event is one of the catalog", "no event arrived", eventOf, ["A-31"]),
  deliveryRule("status", "the suffix of an event equals its status, and its version is 2", [], (deliveries) =>
    // Of other events the interface says that there are some.
    deliveries.filter((delivery) => eventNames.has(eventOf(delivery))).every(hasStatusOfName),
  ),
  deliveryRule("order", "events of a task arrive in the order in which they happened", ["A-11"], orderFact),
  knownRule(
    "customer-errors",
    "customerError has a code and an action that the mock knows",
    "no task.failed with a customerError arrived",
    customerErrorOf,
    ["A-17"],
  ),
  knownRule(
    "stages",
    "subTaskType is a stage that the mock knows",
    "no event of a stage arrived",
    (delivery) => wordOf(fieldsOf(delivery.payload)["subTaskType"]),
    ["A-18"],
  ),
];

/** Events of nearly the same time are sent at once, and may overtake each other on the network. */
const swapMsMax = 1_000;

export const deliveryRules: readonly Rule[] = [...signatureRules, ...eventRules];
