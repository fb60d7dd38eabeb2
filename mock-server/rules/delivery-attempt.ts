// What a delivery's record says. When a delivery is attempted is decided by `delivery-scheduler.ts`.

import { textOfUtf8, toBase64, utf8 } from "@workspace-tasks/kernel/bytes.ts";
import { createBoundedCache, getOrCreate } from "@workspace-tasks/kernel/cache.ts";
import { isLoopbackHost, withoutBrackets } from "@workspace-tasks/kernel/host.ts";
import { Webhook } from "standardwebhooks";
import { isDeliverable, type PlainHttpRules } from "../checks.ts";
import type { DeliveryResponse } from "../outbound.ts";
import { responseBodyCharsMax } from "../settings/settings.ts";
import type { DeliveryFault } from "../state/fault.ts";
import type * as records from "../state/records.ts";
import type {
  AttemptRecord,
  DeliveryRecord,
  EventRecord,
  SigningSecretRecord,
  WebhookEndpointRecord,
} from "../state/records.ts";
import { isoTimeOrNull } from "../time/duration.ts";
import { realClock } from "../time/real-clock.ts";
import type { World } from "../world/world.ts";
import { rejectionOf } from "./retry-plan.ts";

interface AttemptInput {
  readonly delivery: records.DeliveryRecord;
  readonly event: records.EventRecord;
  readonly endpoint: records.WebhookEndpointRecord;
  readonly kind: records.AttemptKind;
  readonly faults: readonly DeliveryFault[];
}

/** An attempt before it has its number among the delivery's attempts. */
type AttemptResult = Omit<records.AttemptRecord, "number">;

/**
 * Signs and sends one attempt. Timestamp and signature are created here, at the last moment, so each attempt has
 * its own while the id stays the same (D2). Never rejects.
 */
export async function makeAttempt(world: World, input: AttemptInput): Promise<AttemptResult> {
  const { delivery, event, endpoint, faults } = input;
  const { settings, transport } = world;
  const { timeoutMs } = settings.delivery;
  const startedAtMs = world.clock.now();
  const startedMs = world.clock.monotonic();
  const bodyText = faults.some(({ kind }) => kind === "altered-body") ? alterBody(event.body) : event.body;
  const body = utf8(bodyText);
  const url = getOrCreate(urls, endpoint.url, partsOf);
  const headers = {
    host: url.host,
    connection: "keep-alive",
    "user-agent": "workspace-tasks-mock",
    "content-type": "application/json",
    "content-length": String(body.length),
    ...signDelivery({
      id: delivery.id,
      atMs: signedTimeMs(startedAtMs, faults),
      body: event.body,
      secrets: signingSecrets(world, input),
    }),
  };
  const response =
    injectedResponse(faults) ??
    notAllowed(url, settings) ??
    (await transport.deliver({ url: endpoint.url, headers, body, timeoutMs }));

  const received = response.status === null ? null : response;
  const responseBody = received?.body.slice(0, responseBodyCharsMax) ?? "";
  const isTruncated = received?.isTruncated || responseBody.length < (received?.body.length ?? 0);
  return {
    kind: input.kind,
    startedAtMs,
    durationMs: Math.round(world.clock.monotonic() - startedMs),
    status: response.status,
    error: response.status === null ? response.error : rejectionIn(world, response.status),
    requestHeaders: headers,
    requestBody: bodyText,
    responseHeaders: received?.headers ?? {},
    responseBody,
    ...(isTruncated ? { responseTruncated: true } : {}),
    faults: faults.map(({ kind }) => kind),
  };
}

/** Beyond it receivers reject a timestamp; the tolerance of the Standard Webhooks libraries. */
const toleranceMs = 300_000;

/** Why the response does not acknowledge the delivery, with the reason that a virtual clock often is. */
function rejectionIn(world: World, status: number): string | null {
  const rejection = rejectionOf(status);
  const isVirtual = "advance" in world.clock;
  if (!isVirtual || (status !== 400 && status !== 401 && status !== 403)) return rejection;
  if (Math.abs(world.clock.now() - realClock.now()) <= toleranceMs) return rejection;
  return `${rejection}; virtual time is far from real time: a receiver with its own clock rejects the timestamp`;
}

// Parsing a URL costs more than the rest of an attempt's headers; few endpoints get most of the deliveries.
const urls = createBoundedCache<string, UrlParts>(1_000);

type UrlParts = Pick<URL, "protocol" | "host" | "hostname">;

/** Read once: the getters of a `URL` create a string each time, and every recorded attempt would keep its own. */
function partsOf(text: string): UrlParts {
  const { protocol, host, hostname } = new URL(text);
  return { protocol, host, hostname };
}

/** An endpoint of a snapshot, or one created before the settings changed, may have a URL that is not allowed now. */
function notAllowed(url: UrlParts, settings: PlainHttpRules): DeliveryResponse | null {
  if (isDeliverable(url, settings)) return null;
  const name = withoutBrackets(url.hostname);
  const remedy = isLoopbackHost(name) ? "set allowLoopbackHttp" : "add it to httpHostsAllowed";
  return { status: null, error: `not sent: plain HTTP to ${name} is not allowed; ${remedy}` };
}

function signedTimeMs(nowMs: number, faults: readonly DeliveryFault[]): number {
  const stale = faults.find((fault) => fault.kind === "stale-timestamp");
  return stale ? nowMs - (stale.ageSeconds ?? 600) * 1_000 : nowMs;
}

function signingSecrets(world: World, { delivery, endpoint, faults }: AttemptInput): readonly string[] {
  const kinds = faults.map(({ kind }) => kind);
  if (kinds.includes("wrong-signature")) {
    const name = `fault/foreign-secret/${delivery.id}/${delivery.attempts.length}`;
    return [`whsec_${toBase64(world.random.bytesOf(name, 32))}`];
  }
  const secrets = liveSecrets(world, endpoint).map(({ secret }) => secret);
  return kinds.includes("old-secret-only") ? secrets.slice(-1) : secrets;
}

/** The receiver gets no request of such an attempt. */
function injectedResponse(faults: readonly DeliveryFault[]): DeliveryResponse | null {
  for (const { kind } of faults) {
    if (kind === "drop") return { status: null, error: "dropped by a fault" };
    if (kind === "redirect") return { status: 302, headers: { location: "/moved" }, body: "" };
  }
  return null;
}

/** Still valid JSON of the same event, so that only the signature differs. */
const alterBody = (body: string) => `${body.slice(0, -1)},"altered":true}`;

/** The three headers of one attempt. @see interface §6, "Delivery headers and verification" */
interface SignedHeaders {
  readonly "webhook-id": string;
  /** Seconds since the Unix epoch. */
  readonly "webhook-timestamp": string;
  /** One signature per secret, in the order of the secrets, separated by a space. */
  readonly "webhook-signature": string;
}

/** Signs with every secret, so that a receiver which knows any one of them can verify (W13). */
function signDelivery(delivery: {
  readonly id: string;
  readonly atMs: number;
  readonly body: string;
  readonly secrets: readonly string[];
}): SignedHeaders {
  const { id, body } = delivery;
  const at = new Date(delivery.atMs);
  const signatures = delivery.secrets.map((secret) => signatureOf(secret, { id, at, body }));
  return {
    "webhook-id": delivery.id,
    "webhook-timestamp": String(Math.floor(delivery.atMs / 1_000)),
    "webhook-signature": flatten(signatures.join(" ")),
  };
}

interface Signed {
  readonly id: string;
  readonly at: Date;
  readonly body: string | Buffer;
}

export const signatureOf = (secret: string, { id, at, body }: Signed): string =>
  getOrCreate(signers, secret, (text) => new Webhook(text)).sign(id, at, body);

// Decoding a secret costs as much as signing a small body.
const signers = createBoundedCache<string, Webhook>(1_000);

// The library builds base64 character by character, which the engine keeps as a tree of some 34 nodes, a
// kilobyte for each recorded attempt. A copy through a buffer is one string.
const flatten = (text: string) => textOfUtf8(utf8(text));

/** 32 random bytes behind the prefix that the Standard Webhooks libraries expect. */
export const newSecret = (world: World) => `whsec_${toBase64(world.random.bytes("signing-secret", 32))}`;

/** The secrets that verify now, newest first: each signs every attempt (W13). */
export function liveSecrets(world: World, endpoint: WebhookEndpointRecord): readonly SigningSecretRecord[] {
  const nowMs = world.clock.now();
  return endpoint.secrets.filter(({ expiresAtMs }) => expiresAtMs === null || expiresAtMs > nowMs);
}

export function createDelivery(
  world: World,
  event: EventRecord,
  endpoint: WebhookEndpointRecord,
): DeliveryRecord {
  const delivery: DeliveryRecord = {
    id: world.newId("delivery"),
    eventId: event.id,
    eventName: event.name,
    workspaceId: event.workspaceId,
    endpointId: endpoint.id,
    status: "pending",
    createdAtMs: world.clock.now(),
    nextAttemptAtMs: null,
    attempts: [],
  };
  world.state.deliveries.set(delivery.id, delivery);
  emitDelivery(world, "delivery.created", delivery);
  return delivery;
}

export function recordAttempt(delivery: DeliveryRecord, result: AttemptResult): AttemptRecord {
  const attempt = { number: delivery.attempts.length + 1, ...result };
  // `push` allocates 17 slots at once, `concat` one. It counts at 100,000 deliveries.
  delivery.attempts = delivery.attempts.concat(attempt);
  return attempt;
}

export function countScheduled({ attempts }: DeliveryRecord): number {
  let count = 0;
  for (const { kind } of attempts) if (kind === "scheduled") count++;
  return count;
}

export const isUnfinished = ({ status }: DeliveryRecord) => status === "pending" || status === "paused";

export function emitDelivery(
  world: World,
  type: `delivery.${string}`,
  delivery: DeliveryRecord,
  details: object = {},
): void {
  if (!world.hasSubscribers) return;
  world.emit({
    type,
    deliveryId: delivery.id,
    eventId: delivery.eventId,
    endpointId: delivery.endpointId,
    workspaceId: delivery.workspaceId,
    event: delivery.eventName,
    status: delivery.status,
    nextAttemptAt: isoTimeOrNull(delivery.nextAttemptAtMs),
    ...details,
  });
}

export function emitAttempt(world: World, delivery: DeliveryRecord, attempt: AttemptRecord): void {
  if (!world.hasSubscribers) return;
  const { number, kind, status, error, durationMs, faults } = attempt;
  emitDelivery(world, "delivery.attempted", delivery, {
    url: world.state.endpoints.get(delivery.endpointId)?.url ?? null,
    tries: delivery.attempts.slice(0, number).filter((each) => each.kind === "scheduled").length,
    triesMax: world.settings.delivery.scheduleMs.length,
    attempt: { number, kind, status, error, durationMs, faults },
  });
}
