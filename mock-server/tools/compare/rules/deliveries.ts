import { eventSchemas } from "@workspace-tasks/events";
import {
  type EventKind,
  events,
  isKnownEventName,
  type KnownEventName,
  knownEventNames,
  payloadVersion,
} from "@workspace-tasks/events/catalog";
import { exampleEvent } from "@workspace-tasks/events/example";
import { isPlainObject, valueAt } from "@workspace-tasks/kernel/plain-object.ts";
import { defaultSettings } from "@workspace-tasks/mock-server/parts";
import { type Delivery, readDeliveries } from "../ask/deliveries.ts";
import { distinct, type Fact, hasEach, type Options, type Rule, rule, sameOf, wordOf } from "../ask/rule.ts";
import { Untestable } from "../ask/send.ts";
import { mediaTypeOf } from "../ask/service.ts";

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
      if (!captured) throw new Untestable("needs --deliveries");
      return read(readDeliveries(captured));
    },
    { needs: "deliveries", ...options },
  );

/** The attempts of each delivery. */
function attemptsOf(deliveries: readonly Delivery[]): readonly (readonly Delivery[])[] {
  const ids = new Set(deliveries.map(({ id }) => id));
  return [...ids].map((id) => deliveries.filter((each) => each.id === id));
}

const eventOf = ({ event }: Delivery): string => wordOf(event["event"] ?? "none");

/** Fields that are missing, or of another type. Their values are compared by other rules. */
function typeIssues(event: Delivery["event"], name: KnownEventName): readonly string[] {
  const { issues = [] } = eventSchemas[name].safeParse(event).error ?? {};
  return issues
    .filter(
      ({ code, path }) => code === "invalid_type" || typeof valueAt(event, ...path.map(String)) !== "string",
    )
    .map(({ path }) => {
      const place = path.map((step) => (typeof step === "number" ? "*" : String(step))).join(".");
      return `${place}: missing or of another type`;
    });
}

/** Names of fields that the mock does not send. */
const addedFields = (event: Delivery["event"], name: KnownEventName): readonly string[] =>
  Object.keys(event)
    .filter((field) => !(field in exampleEvent(name)))
    .map((field) => `${wordOf(field)}: not expected`);

const sourcesOfKind: Readonly<Record<EventKind, string>> = {
  task: "E2 E3 A-34",
  stage: "E4 A-34",
  documents: "E5 A-10",
};

const payloadRule = (name: KnownEventName): Rule => {
  const isPull = name === "documents.synced";
  const promised = isPull
    ? /^(connectionId|providerKey|sourceExternalId|duplicateCount):/
    : /(?<!: not expected)$/;
  return deliveryRule(
    `${sourcesOfKind[events[name].kind]} deliveries.payload-${name}: the body of ${name} has the fields and types of its schema`,
    [],
    (deliveries) => {
      const own = deliveries.filter((delivery) => eventOf(delivery) === name);
      if (own.length === 0) throw new Untestable(`no ${name} arrived`);
      return distinct(own.flatMap(({ event }) => [...typeIssues(event, name), ...addedFields(event, name)]));
    },
    { keeps: (_, issues) => !(issues as readonly string[]).some((issue) => promised.test(issue)) },
  );
};

/** A delivery that arrives this much later than the fastest one after its event is a retry, or was held up. */
const lateMs = 4_000;

/** Whether an attempt arrived as soon after its event as others do, whatever the difference between the two clocks. */
function promptness(deliveries: readonly Delivery[]): (attempt: Delivery | undefined) => boolean {
  const lagOf = ({ receivedAtMs, event }: Delivery) => receivedAtMs - Date.parse(String(event["occurredAt"]));
  const least = Math.min(...deliveries.map(lagOf).filter((lag) => !Number.isNaN(lag)));
  return (attempt) => attempt !== undefined && !(lagOf(attempt) - least > lateMs);
}

/**
 * The waits, in milliseconds, of the delivery that was attempted most often until it was accepted, of those whose first
 * attempt is known: a receiver that missed it saw a later part of the schedule.
 */
function waitsOf(deliveries: readonly Delivery[]): readonly number[] {
  const isPrompt = promptness(deliveries);
  const runs = attemptsOf(deliveries)
    .filter(([first]) => isPrompt(first))
    .map((attempts) => {
      // What arrives after an accepted attempt is sent again for another reason.
      const acceptedAt = attempts.findIndex(({ responded }) => responded !== null && responded < 300);
      return acceptedAt < 0 ? attempts : attempts.slice(0, acceptedAt + 1);
    });
  const [most = []] = runs.toSorted((a, b) => b.length - a.length);
  return most.slice(1).map(({ receivedAtMs }, index) => receivedAtMs - (most[index]?.receivedAtMs ?? 0));
}

/** Waits differ by network, queues and jitter. A file may end before the last retry; one more than planned is a difference. */
const waitsAgree = (expected: Fact, found: Fact): boolean => {
  const [schedule, waits] = [expected as readonly number[], found as readonly number[]];
  return waits.every((wait, index) => {
    const wanted = schedule[index];
    return wanted !== undefined && Math.abs(wanted - wait) <= Math.max(3_000, wanted / 4);
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
  if (!several || several.signatures.some(({ secret }) => secret === null))
    throw new Untestable(
      "no delivery has two signatures that verify: rotate the secret, and pass both, the new one first",
    );
  return several.signatures.map(({ secret }) => (secret === 0 ? "newest" : "older"));
}

const { scheduleMs } = defaultSettings.delivery;

const signatureRules: readonly Rule[] = [
  deliveryRule(
    "D1 A-35 deliveries.headers: a delivery has the three headers of Standard Webhooks",
    ["webhook-id", "webhook-signature", "webhook-timestamp"],
    (deliveries) => {
      const names = deliveries.flatMap(({ headers }) => Object.keys(headers));
      return distinct(names.filter((name) => /^webhook-[a-z-]{1,30}$/.test(name)));
    },
    { keeps: hasEach },
  ),
  deliveryRule(
    "D1 A-35 deliveries.content-type: the body is application/json",
    ["application/json"],
    (deliveries) => distinct(deliveries.map(({ headers }) => mediaTypeOf(headers["content-type"]))),
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
    return repeated.every(([first, ...others]) => others.every(({ body }) => first?.body.equals(body)));
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
    // The interface says that there are other events, and nothing about them.
    (deliveries) => deliveries.filter((each) => isKnownEventName(eventOf(each))).every(hasStatusOfName),
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
