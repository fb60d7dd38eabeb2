import type { DeliveryResponse } from "../../outbound/port.ts";
import type { DeliveryFault } from "../../state/fault.ts";
import type {
  AttemptKind,
  AttemptRecord,
  DeliveryRecord,
  EventRecord,
  WebhookEndpointRecord,
} from "../../state/records.ts";
import type { World } from "../../world/world.ts";
import { rejectionOf } from "./retry-plan.ts";
import { signDelivery } from "./signing.ts";
import { liveSecrets } from "./signing-secrets.ts";

export type AttemptInput = {
  readonly delivery: DeliveryRecord;
  readonly event: EventRecord;
  readonly endpoint: WebhookEndpointRecord;
  readonly kind: AttemptKind;
  readonly faults: readonly DeliveryFault[];
};

/** An attempt before it has its place among the delivery's attempts. */
export type AttemptMade = Omit<AttemptRecord, "number">;

/**
 * Signs, sends and describes one attempt. Timestamp and signature are made here, at the last moment, so
 * they are fresh at each attempt while the id stays (D2). Never rejects.
 */
export async function makeAttempt(world: World, input: AttemptInput): Promise<AttemptMade> {
  const { delivery, event, endpoint, faults } = input;
  const startedAtMs = world.clock.now();
  const startedMs = world.clock.monotonic();
  const bodyText = faults.some(({ kind }) => kind === "altered-body") ? alterBody(event.body) : event.body;
  const body = Buffer.from(bodyText, "utf8");
  const headers = {
    host: hostOf(endpoint.url),
    connection: "keep-alive",
    "user-agent": "workspace-tasks-mock",
    "content-type": "application/json",
    "content-length": String(body.length),
    ...signDelivery({
      id: delivery.id,
      atMs: signedTimeMs(startedAtMs, faults),
      body: event.body,
      secrets: signingSecrets(world, endpoint, faults),
    }),
  };
  const answer =
    answerInTheWay(faults) ??
    (await world.transport.deliver({
      url: endpoint.url,
      headers,
      body,
      timeoutMs: world.settings.delivery.timeoutMs,
    }));

  const came = answer.status === null ? null : answer;
  return {
    kind: input.kind,
    startedAtMs,
    durationMs: Math.round(world.clock.monotonic() - startedMs),
    status: answer.status,
    error: answer.status === null ? answer.error : rejectionOf(answer.status),
    requestHeaders: headers,
    requestBody: bodyText,
    responseHeaders: came?.headers ?? {},
    responseBody: came?.body.slice(0, world.settings.delivery.responseBodyCharsMax) ?? "",
    faults: faults.map(({ kind }) => kind),
  };
}

function signedTimeMs(nowMs: number, faults: readonly DeliveryFault[]): number {
  const stale = faults.find((fault) => fault.kind === "stale-timestamp");
  return stale ? nowMs - (stale.ageSeconds ?? 600) * 1_000 : nowMs;
}

function signingSecrets(
  world: World,
  endpoint: WebhookEndpointRecord,
  faults: readonly DeliveryFault[],
): readonly string[] {
  const kinds = faults.map(({ kind }) => kind);
  if (kinds.includes("wrong-signature")) {
    return [`whsec_${world.random.bytes("fault/foreign-secret", 32).toString("base64")}`];
  }
  const secrets = liveSecrets(world, endpoint).map(({ secret }) => secret);
  return kinds.includes("old-secret-only") ? secrets.slice(-1) : secrets;
}

/** Faults on the way: the receiver sees nothing of such an attempt. */
function answerInTheWay(faults: readonly DeliveryFault[]): DeliveryResponse | null {
  for (const { kind } of faults) {
    if (kind === "drop") return { status: null, error: "dropped by a fault" };
    if (kind === "redirect") return { status: 302, headers: { location: "/moved" }, body: "" };
  }
  return null;
}

/** Still valid JSON of the same event, so that only the signature can tell. */
const alterBody = (body: string) => `${body.slice(0, -1)},"altered":true}`;

// Parsing an address costs more than the rest of an attempt's headers; few endpoints get most of them.
const hosts = new Map<string, string>();
const hostsMax = 1_000;

function hostOf(url: string): string {
  const known = hosts.get(url);
  if (known !== undefined) return known;
  if (hosts.size >= hostsMax) hosts.clear();
  const { host } = new URL(url);
  hosts.set(url, host);
  return host;
}
