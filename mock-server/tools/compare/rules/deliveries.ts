import { payloadJsonSchema } from "@workspace-tasks/events";
import {
  isKnownEventName,
  type KnownEventName,
  knownEventNames,
  payloadVersion,
} from "@workspace-tasks/events/catalog";
import { getOrCreate } from "@workspace-tasks/kernel/cache.ts";
import { isPlainObject, valueAt } from "@workspace-tasks/kernel/plain-object.ts";
import { defaultSettings } from "@workspace-tasks/mock-server/parts";
import { type Delivery, readDeliveries } from "../ask/deliveries.ts";
import { distinct, type Fact, hasEach, type Options, type Rule, rule, sameOf, wordOf } from "../ask/rule.ts";
import { Missing, Untestable } from "../ask/send.ts";
import { summarizeSchema } from "../ask/summarize-schema.ts";

const deliveryRule = (
  title: string,
  expected: Rule["expected"],
  read: (deliveries: readonly Delivery[]) => Fact,
  options: Options = {},
): Rule =>
  rule(
    title,
    expected,
    ({ captured }) => {
      if (!captured) throw new Missing("needs --deliveries");
      if (captured.deliveries.length === 0)
        throw new Untestable("no delivery arrived: start a task in the web app");
      return read(readDeliveries(captured));
    },
    { needs: "deliveries", ...options },
  );

function groupBy(
  deliveries: readonly Delivery[],
  keyOf: (delivery: Delivery) => string,
): readonly (readonly Delivery[])[] {
  const groups = new Map<string, Delivery[]>();
  for (const delivery of deliveries) getOrCreate(groups, keyOf(delivery), () => []).push(delivery);
  return [...groups.values()];
}

const attemptsOf = (deliveries: readonly Delivery[]) => groupBy(deliveries, ({ id }) => id);
const eventOf = ({ event }: Delivery): string => wordOf(event["event"] ?? "none");
const occurredAt = ({ event }: Delivery): number => Date.parse(String(event["occurredAt"]));

/** Whether a value is of a type of the summary of a schema, such as `null|string`. */
function fits(value: unknown, types: string): boolean {
  const allowed = types.split("|");
  if (types === "any" || (value === null && allowed.includes("null"))) return true;
  if (Array.isArray(value)) return allowed.includes("array");
  if (Number.isInteger(value) && allowed.includes("integer")) return true;
  return value !== null && allowed.includes(typeof value);
}

const nullable = new Set(["taxPrepResult", "customerError"]);

/** What is wrong with a payload: fields that are missing, not expected or of another type. Names of others may be data. */
function payloadIssues(fields: unknown, expected: Fact, place = ""): readonly string[] {
  if (!isPlainObject(expected) || !isPlainObject(fields)) return [];
  const known = Object.entries(expected).map(([mark, types]) => [mark.replace("?", ""), types] as const);
  const names = known.map(([name]) => name);
  const isAdded = Object.keys(fields).filter((name) => !names.includes(name));
  return [
    ...names.filter((name) => !Object.hasOwn(fields, name)).map((name) => `${place}${name}: missing`),
    ...isAdded.map((name) => `${place}${place === "" ? wordOf(name) : "…"}: not expected`),
    ...known.flatMap(([name, types]) => {
      const value = fields[name];
      if (value === undefined) return [];
      if (!isPlainObject(types))
        return fits(value, String(types)) ? [] : [`${place}${name}: expected ${types}`];
      if (value === null) return nullable.has(name) ? [] : [`${place}${name}: null`];
      return isPlainObject(value)
        ? payloadIssues(value, types as Fact, `${place}${name}.`)
        : [`${place}${name}: no object`];
    }),
  ];
}

const hasIssue = (issues: Fact, about: RegExp) =>
  (issues as readonly string[]).some((issue) => about.test(issue));

const payloadRule = (name: KnownEventName): Rule => {
  const isPull = name === "documents.synced";
  const promised = isPull
    ? /^(connectionId|providerKey|sourceExternalId|duplicateCount):/
    : /(?<!: not expected)$/;
  const from = isPull ? "E5 A-10" : name.startsWith("task.") ? "E2 E3 A-34" : "E4 A-34";
  return deliveryRule(
    `${from} deliveries.payload-${name}: the body of ${name} has the fields and types of its schema`,
    [],
    (deliveries) => {
      const own = deliveries.filter((delivery) => eventOf(delivery) === name);
      if (own.length === 0) throw new Untestable(`no ${name} arrived`);
      const expected = summarizeSchema(payloadJsonSchema(name));
      return distinct(own.flatMap(({ event }) => payloadIssues(event, expected)));
    },
    { keeps: (_, issues) => !hasIssue(issues, promised) },
  );
};

/** A delivery that arrives this much later than the fastest one after its event is a retry, or was held up. */
const lateMs = 4_000;

/** Time from an event to the arrival of an attempt, without the difference between the two clocks. */
function lagsOf(deliveries: readonly Delivery[]): ReadonlyMap<Delivery, number> {
  const lags = deliveries
    .map((delivery) => [delivery, delivery.receivedAtMs - occurredAt(delivery)] as const)
    .filter(([, lag]) => !Number.isNaN(lag));
  const least = Math.min(...lags.map(([, lag]) => lag));
  return new Map(lags.map(([delivery, lag]) => [delivery, lag - least]));
}

/**
 * The waits, in milliseconds, of the delivery that was attempted most often until it was accepted, of those whose first
 * attempt arrived as soon after its event as others do. A receiver that missed it saw a later part of the schedule.
 */
function waitsOf(deliveries: readonly Delivery[]): readonly number[] {
  const lags = lagsOf(deliveries);
  const runs = attemptsOf(deliveries).flatMap((attempts) => {
    if (!attempts[0] || (lags.get(attempts[0]) ?? 0) > lateMs) return [];
    // What arrives after an accepted attempt is sent again for another reason.
    const acceptedAt = attempts.findIndex(({ responded }) => responded !== null && responded < 300);
    return [acceptedAt < 0 ? attempts : attempts.slice(0, acceptedAt + 1)];
  });
  const [most = []] = runs.toSorted((a, b) => b.length - a.length);
  return most.slice(1).map(({ receivedAtMs }, index) => receivedAtMs - (most[index]?.receivedAtMs ?? 0));
}

/** Waits differ by network, queues and jitter. */
const waitsAgree = (expected: Fact, found: Fact): boolean => {
  const [schedule, waits] = [expected as readonly number[], found as readonly number[]];
  return waits.every((wait, index) => {
    const wanted = schedule[index];
    return wanted === undefined || Math.abs(wanted - wait) <= Math.max(3_000, wanted / 4);
  });
};

const clockSecondsMax = 60;

/** A difference of the clocks is the same for every delivery; a wrong time is not. */
function timestampFact(deliveries: readonly Delivery[]): Fact {
  const forms = distinct(deliveries.map(({ timestamp }) => timestamp));
  const ages = deliveries.map(({ ageSeconds }) => ageSeconds).toSorted((a, b) => a - b);
  const median = ages[Math.floor(ages.length / 2)] ?? 0;
  const isEven = ages.every((age) => Math.abs(age - median) <= clockSecondsMax);
  if (isEven && Math.abs(median) > clockSecondsMax && forms.join() === "seconds")
    throw new Untestable(`the receiver's clock and the service's differ by about ${Math.abs(median)} s`);
  return { forms, recent: isEven };
}

/** A file may be of several endpoints, or its secret of another one. */
function verifiedOf(deliveries: readonly Delivery[]): string {
  const { length } = deliveries.filter(({ signatures }) => signatures.some(({ secret }) => secret !== null));
  if (length === deliveries.length) return "yes";
  const share = length === 0 ? "none" : `${length} of ${deliveries.length}`;
  return `${share}; a file may have deliveries of another endpoint than the secret`;
}

function rotationFact(deliveries: readonly Delivery[]): Fact {
  const several = deliveries.find(({ signatures }) => signatures.length > 1);
  if (!several)
    throw new Untestable(
      "no delivery has two signatures: rotate the secret, and pass both, the new one first",
    );
  if (several.signatures.some(({ secret }) => secret === null))
    throw new Untestable("a signature is of a secret that was not passed: pass both, the new one first");
  return several.signatures.map(({ secret }) => (secret === 0 ? "newest" : "older"));
}

const { scheduleMs } = defaultSettings.delivery;

const signatureRules: readonly Rule[] = [
  deliveryRule(
    "D1 A-35 deliveries.headers: a delivery has the three headers of Standard Webhooks",
    ["webhook-id", "webhook-signature", "webhook-timestamp"],
    (deliveries) =>
      distinct(
        deliveries.flatMap(({ headers }) =>
          Object.keys(headers).filter((name) => /^webhook-[a-z-]{1,30}$/.test(name)),
        ),
      ),
    { keeps: hasEach },
  ),
  deliveryRule(
    "D1 A-35 deliveries.content-type: the body is application/json",
    ["application/json"],
    (deliveries) =>
      distinct(
        deliveries.map(
          ({ headers }) =>
            /^[a-z]+\/[a-z0-9.+-]{1,60}/i.exec(headers["content-type"] ?? "")?.[0]?.toLowerCase() ?? "none",
        ),
      ),
  ),
  deliveryRule(
    "D1 A-9 deliveries.signature: every delivery has a v1 signature that verifies",
    { versions: ["v1"], verify: "yes" },
    (deliveries) => ({
      versions: distinct(deliveries.flatMap(({ signatures }) => signatures.map(({ version }) => version))),
      verify: verifiedOf(deliveries),
    }),
    { keeps: sameOf("verify") },
  ),
  deliveryRule(
    "D1 D2 A-11 deliveries.timestamp: webhook-timestamp is the time of the attempt in seconds",
    { forms: ["seconds"], recent: true },
    timestampFact,
    { keeps: sameOf("forms") },
  ),
  deliveryRule(
    "W13 A-9 deliveries.rotation: during a rotation the newest secret signs first",
    ["newest", "older"],
    rotationFact,
  ),
  deliveryRule("D2 A-11 deliveries.repeats: a retry has the same webhook-id and body", true, (deliveries) => {
    const repeated = attemptsOf(deliveries).filter(({ length }) => length > 1);
    if (repeated.length === 0) throw new Untestable("no delivery was sent twice");
    return repeated.every(
      (attempts) => new Set(attempts.map(({ body }) => body.toString("base64"))).size === 1,
    );
  }),
  deliveryRule(
    "D3 A-11 deliveries.retry-waits: retries follow after 5 s, 5 min, 30 min and more",
    ({ delivery }) => delivery.scheduleMs.slice(1),
    (deliveries) => {
      const waits = waitsOf(deliveries);
      if (waits.length === 0) throw new Untestable("no retry arrived while the receiver listened");
      return waits;
    },
    {
      agrees: waitsAgree,
      setting(found) {
        const waits = (found as readonly number[]).map((wait) => Math.round(wait / 1_000) * 1_000);
        return { delivery: { scheduleMs: [0, ...waits, ...scheduleMs.slice(waits.length + 1)] } };
      },
    },
  ),
];

/** Values that the deliveries have, each of which the mock knows. */
const knownRule = (
  title: string,
  known: Rule["expected"],
  absent: string,
  read: (delivery: Delivery) => string | null,
): Rule =>
  deliveryRule(
    title,
    known,
    (deliveries) => {
      const values = deliveries.flatMap((delivery) => read(delivery) ?? []);
      if (values.length === 0) throw new Untestable(absent);
      return distinct(values);
    },
    { agrees: (expected, found) => hasEach(found, expected) },
  );

/** Code and action of a customerError. */
function customerErrorOf({ event }: Delivery): string | null {
  const error = event["customerError"];
  return isPlainObject(error)
    ? `${wordOf(error["code"])} / ${wordOf(valueAt(error, "action", "type"))}`
    : null;
}

function hasStatusOfName(delivery: Delivery): boolean {
  const { status, version } = delivery.event;
  const [noun, suffix = ""] = eventOf(delivery).split(".");
  const isOfTask = noun === "task" || noun === "subtask";
  return version === payloadVersion && (!isOfTask || String(status).toLowerCase() === suffix);
}

/** Events of nearly the same time are sent at once, and may overtake each other on the network. */
const swapMsMax = 1_000;

/** Whether the events of each task arrived in the order in which they happened. */
function isInOrder(deliveries: readonly Delivery[]): Fact {
  const lags = lagsOf(deliveries);
  const first = attemptsOf(deliveries).flatMap(([attempt]) =>
    attempt && (lags.get(attempt) ?? Number.POSITIVE_INFINITY) <= lateMs ? [attempt] : [],
  );
  const ofTasks = first.filter(({ event }) => typeof event["taskId"] === "string");
  const byTask = groupBy(ofTasks, ({ event }) => String(event["taskId"]));
  if (!byTask.some((own) => own.length > 1))
    throw new Untestable("no two events of one task arrived at once");
  return byTask.every((own) => {
    const times = own.map(occurredAt);
    return times.every((time, index) => time + swapMsMax >= Math.max(...times.slice(0, index + 1)));
  });
}

const eventRules: readonly Rule[] = [
  ...knownEventNames.map(payloadRule),
  knownRule(
    "E6 A-31 deliveries.names: every event is one of the catalog",
    distinct(knownEventNames),
    "no event arrived",
    eventOf,
  ),
  deliveryRule(
    "E1 deliveries.status: the suffix of an event equals its status, and its version is 2",
    true,
    // Of other events the interface says that there are some.
    (deliveries) => deliveries.filter((each) => isKnownEventName(eventOf(each))).every(hasStatusOfName),
  ),
  deliveryRule(
    "D5 A-11 deliveries.order: events of a task arrive in the order in which they happened",
    true,
    isInOrder,
  ),
  knownRule(
    "E3 A-17 deliveries.customer-errors: customerError has a code and an action that the mock knows",
    [
      "CONNECTION_REAUTH_REQUIRED / RECONNECT",
      "DOCUMENT_UNREADABLE / REUPLOAD",
      "INTERNAL / CONTACT_SUPPORT",
    ],
    "no task.failed with a customerError arrived",
    customerErrorOf,
  ),
  knownRule(
    "E4 A-18 deliveries.stages: subTaskType is a stage that the mock knows",
    ({ tasks }) =>
      distinct(Object.values(tasks.plans).flatMap((plan) => plan.stages.map(({ type }) => type))),
    "no event of a stage arrived",
    ({ event }) => (typeof event["subTaskType"] === "string" ? wordOf(event["subTaskType"]) : null),
  ),
];

export const deliveryRules: readonly Rule[] = [...signatureRules, ...eventRules];
