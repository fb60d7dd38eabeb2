// Two endpoints of a run get the same events. One is left alone. The other rejects what it gets, and is paused, enabled at
// another URL and unsubscribed meanwhile, so that the first one shows what the second one missed:
//
//   registered → its first attempt arrives → paused → enabled, at another URL and without subscriptions → waits for the rest

import type { Clock } from "../../../sdk/kernel/clock.ts";
import { jsonOrUndefined } from "../../../sdk/kernel/json.ts";
import { isPlainObject } from "../../../sdk/kernel/plain-object.ts";
import { operationDocuments } from "../../generated/operation-documents.ts";
import type { VirtualClock } from "../../time/virtual-clock.ts";
import { changesProbe, deliveriesProbe, type Facts, type Observation } from "../observe/observation.ts";
import { type CapturedDelivery, observeDeliveries } from "../observe/observe-delivery.ts";
import { redactCode, redactMessage } from "../observe/redact-message.ts";
import { graphqlRequest, SendError, type Sender } from "./send-request.ts";
import { NoTokenError, type Session } from "./session.ts";
import { sleep } from "./sleep.ts";

/** A receiver that the service can reach. */
export interface Listening {
  readonly publicUrl: string;
  /** How long deliveries are awaited. */
  readonly forMs: number;
  /** What has arrived, with the last part of the path that it arrived at. */
  captured(): readonly CapturedDelivery[];
}

export interface Captured {
  readonly deliveries: readonly CapturedDelivery[];
  /** Secrets of the endpoint, the newest first. */
  readonly secrets: readonly string[];
}

export const capturedObservations = ({ deliveries, secrets }: Captured): readonly Observation[] => [
  {
    probe: deliveriesProbe,
    atMs: 0,
    outcome: "deliveries",
    deliveries: observeDeliveries(deliveries, secrets),
  },
];

interface Context {
  readonly baseUrl: string;
  readonly sender: Sender;
  readonly session: Session;
  readonly clock: Clock | VirtualClock;
  readonly mark: string;
  readonly signal: AbortSignal;
  readonly onWait?: ((ms: number, reason: string) => void) | undefined;
}

/** Names of the paths that endpoints of a run have. */
export const endpointPaths = { plain: "deliveries", changing: "changes", moved: "moved" } as const;

const rejectedMax = 2;

/**
 * How the receiver of a run responds. The first attempts of the first delivery are rejected, so that retries can be seen;
 * an endpoint that will change rejects all, so that it has pending deliveries.
 */
export function responseTo(
  { headers, path }: Pick<CapturedDelivery, "headers" | "path">,
  captured: readonly CapturedDelivery[],
): 204 | 503 {
  if (path === endpointPaths.changing) return 503;
  if (path !== endpointPaths.plain) return 204;
  const own = captured.filter((each) => each.path === path);
  const id = headers["webhook-id"];
  const isFirst = (own[0]?.headers["webhook-id"] ?? id) === id;
  return isFirst && own.filter(({ responded }) => responded === 503).length < rejectedMax ? 503 : 204;
}

/** A request that the service rejected, in words that are free of client data. */
class RejectedError extends Error {}

const pollMs = 500;
const pausedMs = 60_000;
/** An attempt that was on its way when the endpoint was paused. */
const inFlightMs = 3_000;
/** The second wait of the schedule is 5 min. */
const pendingMsMax = 330_000;

/** Registers endpoints for the receiver and waits. What failed is an observation too. */
export async function awaitDeliveries(
  listening: Listening,
  context: Context,
): Promise<readonly Observation[]> {
  const failed = (probe: string, error: unknown): Observation => {
    const isKnown =
      error instanceof RejectedError || error instanceof SendError || error instanceof NoTokenError;
    if (!isKnown) throw error;
    return { probe, atMs: 0, outcome: "failed", reason: error.message };
  };
  const { clock, signal, onWait } = context;
  const endsTicks = clock.monotonic() + listening.forMs;
  let plain: Endpoint;
  try {
    plain = await register(endpointPaths.plain, listening, context);
  } catch (error) {
    return [deliveriesProbe, changesProbe].map((probe) => failed(probe, error));
  }
  onWait?.(listening.forMs, "for deliveries: start a task in the web app");
  let changes: Observation;
  try {
    const facts = await changeEndpoint(listening, endsTicks, context);
    changes = { probe: changesProbe, atMs: 0, outcome: "measured", facts };
  } catch (error) {
    changes = failed(changesProbe, error);
  }
  await sleep(clock, endsTicks - clock.monotonic(), signal);
  const deliveries = listening.captured().filter(({ path }) => path === endpointPaths.plain);
  return [...capturedObservations({ deliveries, secrets: [plain.secret] }), changes];
}

interface Endpoint {
  readonly id: string;
  readonly secret: string;
}

const urlOf = ({ publicUrl }: Listening, { mark }: Context, path: string) =>
  `${publicUrl.replace(/\/$/, "")}${mark}${path}`;

async function register(path: string, listening: Listening, context: Context): Promise<Endpoint> {
  const input = { url: urlOf(listening, context, path), description: "workspace-tasks compare" };
  const created = await mutate("CreateWebhookEndpoint", input, context);
  const { endpoint, signingSecret: secret } = isPlainObject(created) ? created : {};
  const id = isPlainObject(endpoint) ? endpoint["id"] : null;
  if (typeof id === "string" && typeof secret === "string") return { id, secret };
  throw new RejectedError("the service registered no endpoint for --deliveries, and gave no reason");
}

async function mutate(
  name: "CreateWebhookEndpoint" | "UpdateWebhookEndpoint",
  input: Readonly<Record<string, unknown>>,
  { baseUrl, sender, session }: Context,
): Promise<unknown> {
  const body = { query: operationDocuments[name].text, variables: { input } };
  const { json } = await sender.send(graphqlRequest(baseUrl, body, await session.token("admin")));
  const { data, errors } = isPlainObject(json) ? json : {};
  const [error] = Array.isArray(errors) ? errors.filter(isPlainObject) : [];
  if (error) {
    const { code } = isPlainObject(error["extensions"]) ? error["extensions"] : {};
    const message = redactMessage(String(error["message"]));
    const action = name === "CreateWebhookEndpoint" ? "register" : "change";
    throw new RejectedError(
      `the service did not ${action} the endpoint for --deliveries: ${redactCode(code) ?? "no code"} "${message}"`,
    );
  }
  return isPlainObject(data) ? Object.values(data)[0] : null;
}

/** Pauses, enables, moves and unsubscribes an endpoint while it has pending deliveries. */
async function changeEndpoint(listening: Listening, endsTicks: number, context: Context): Promise<Facts> {
  const { clock, signal } = context;
  const { changing, moved } = endpointPaths;
  const { id } = await register(changing, listening, context);
  const at = (path: string) => listening.captured().filter((each) => each.path === path);
  const isOver = () => signal.aborted || clock.monotonic() >= endsTicks;
  while (at(changing).length === 0 && !isOver()) await sleep(clock, pollMs, signal);
  if (at(changing).length === 0) return { arrived: false };
  await mutate("UpdateWebhookEndpoint", { endpointId: id, enabled: false }, context);
  const pausedAtMs = clock.now() + inFlightMs;
  const pending = new Set(at(changing).map(idOf));
  await sleep(clock, Math.min(pausedMs, endsTicks - clock.monotonic()), signal);
  const enabledAtMs = clock.now();
  if (isOver()) return { arrived: true, finished: false };
  await mutate(
    "UpdateWebhookEndpoint",
    {
      endpointId: id,
      enabled: true,
      url: urlOf(listening, context, moved),
      eventTypes: ["documents.synced"],
    },
    context,
  );
  const isPaused = ({ receivedAtMs }: CapturedDelivery) =>
    receivedAtMs > pausedAtMs && receivedAtMs < enabledAtMs;
  const missed = new Set(
    at(endpointPaths.plain)
      .filter((each) => isPaused(each) && !pendingAttempt(each, listening))
      .map(eventKey),
  );
  await sleep(clock, Math.min(pendingMsMax, endsTicks - clock.monotonic()), signal);
  const later = [...at(changing), ...at(moved)].filter(({ receivedAtMs }) => receivedAtMs >= enabledAtMs);
  const ofPending = later.filter((each) => pending.has(idOf(each)));
  const atMoved = ofPending.some(({ path }) => path === moved);
  return {
    arrived: true,
    finished: !signal.aborted,
    attemptsWhilePaused: at(changing).filter(isPaused).length,
    eventsWhilePaused: missed.size,
    missedDelivered: later.filter((each) => missed.has(eventKey(each))).length,
    pendingArrived: atMoved ? "at the new URL" : ofPending.length > 0 ? "at the old URL" : "no",
    waitedMs: Math.round(clock.now() - enabledAtMs),
  };
}

const idOf = ({ headers }: CapturedDelivery) => headers["webhook-id"] ?? "";

/** Whether it repeats a delivery that arrived before: a retry is no new event. */
const pendingAttempt = (delivery: CapturedDelivery, { captured }: Listening) =>
  captured().some((each) => idOf(each) === idOf(delivery) && each.receivedAtMs < delivery.receivedAtMs);

/** The same event at two endpoints has two ids. */
const eventKey = ({ body }: CapturedDelivery): string => {
  const payload = jsonOrUndefined(body.toString("utf8"));
  if (!isPlainObject(payload)) return body.toString("base64");
  const { event, taskId, subTaskType, status, occurredAt } = payload;
  return JSON.stringify([event, taskId, subTaskType, status, occurredAt]);
};
