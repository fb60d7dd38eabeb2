/*
 * Half of a rate limit is used, then, half a window later, the rest of it up to a 429. When the first half has left a sliding
 * window, as many requests are accepted again as that half had; a fixed window accepts a whole limit again:
 *
 *   0 s     60 requests                             accepted
 *   30 s    requests up to a 429, and 10 more       another 60 accepted; what a gateway and an exchange respond meanwhile
 *   +wait   one request after the stated wait       accepted
 *   61 s    requests up to a 429                    60 of a sliding window, 120 of a fixed one
 *
 * The numbers are those of the limit of 120 in 60 s; another one that the mock is set to is measured in its proportions. A
 * service's limit is found from half of it to four times of it.
 */

import type { Clock } from "@workspace-tasks/kernel/clock.ts";
import type { Settings, VirtualClock } from "@workspace-tasks/mock-server";
import { operationDocuments } from "@workspace-tasks/mock-server/parts";
import { type Facts, type Observation, rateLimitProbe } from "../observe/observation.ts";
import { observeResponse } from "../observe/observe-response.ts";
import { createPseudonyms } from "../observe/redact-data.ts";
import { createPacer } from "./pacer.ts";
import * as http from "./send-request.ts";
import { type Access, createSession, NoTokenError, type Session } from "./session.ts";
import { sleep } from "./sleep.ts";

interface Context extends Omit<http.SenderOptions, "pacer" | "writes"> {
  readonly access: Access;
  readonly sender: http.Sender;
  readonly clock: Clock | VirtualClock;
  /** The limit of the mock that the service is compared with. */
  readonly rateLimit: Pick<Settings["rateLimit"], "requests" | "windowMs">;
}

/** A service without a limit near the expected one is not asked forever. */
const limitsMax = 4;
const rejectedMore = 10;
const atOnce = 4;
const marginMs = 1_000;
const unpaced = { requests: Number.POSITIVE_INFINITY, windowMs: 60_000 };

/** Uses up the rate limit of the key. The observation says what was accepted when. */
export async function measureRateLimit(context: Context): Promise<Observation> {
  const common = { probe: rateLimitProbe, atMs: 0 };
  const { access, clock } = context;
  const { stats } = context.sender;
  const pacer = createPacer(clock, unpaced);
  const sender = http.createSender({ ...context, pacer, writes: false, expectsRateLimit: true, stats });
  try {
    const facts = await measure({ ...context, sender, session: createSession(access, sender, clock) });
    return typeof facts === "string"
      ? { ...common, outcome: "failed", reason: facts }
      : { ...common, outcome: "measured", facts };
  } catch (error) {
    if (!(error instanceof http.SendError)) throw error;
    return { ...common, outcome: "failed", reason: error.message };
  }
}

interface Measuring extends Context {
  readonly session: Session;
}

/** The facts, or why there are none. */
async function measure(context: Measuring): Promise<Facts | string> {
  const { clock, signal, onWait, rateLimit } = context;
  const { requests: limit, windowMs } = rateLimit;
  const half = Math.ceil(limit / 2);
  const wait = async (ms: number, reason: string) => {
    if (ms > 0) onWait?.(ms, reason);
    await sleep(clock, ms, signal);
  };
  const me = meSender(context, "base");
  await wait(windowMs + marginMs, "until earlier requests have left the window");
  const startTicks = clock.monotonic();
  const first = await burst(me, half);
  const firstMs = clock.monotonic() - startTicks;
  if (first.rejection) return `a 429 after ${first.accepted} requests: another user of the key is active`;
  if (firstMs > windowMs / 4) return "the service responds too slowly to use up the limit";
  await wait(startTicks + windowMs / 2 - clock.monotonic(), "for half a window");
  const second = await burst(me, limit * limitsMax);
  if (!second.rejection) return `no 429 within ${half + second.accepted} requests`;
  const rejectedTicks = clock.monotonic();
  const statedMs = retryAfterMs(second.rejection);
  const others = await whileRejected(context);
  for (let count = 0; count < rejectedMore; count += 1) await me();
  // Whether a wait of hours was the right one is not found out.
  const isWaited = statedMs !== null && statedMs <= Math.max(http.waitMsMax, windowMs);
  if (isWaited) await wait(statedMs - (clock.monotonic() - rejectedTicks), "as long as the 429 says");
  const after = isWaited ? await me() : null;
  const leftTicks = startTicks + windowMs + firstMs + marginMs;
  await wait(leftTicks - clock.monotonic(), "until the first half has left the window");
  const third = await burst(me, limit * limitsMax);
  const { status, errors } = observe(second.rejection, context);
  const [error] = errors ?? [];
  return {
    accepted: half + second.accepted,
    acceptedAgain: third.accepted + (after?.status === 200 ? 1 : 0),
    again429: third.rejection !== null,
    half,
    statedMs,
    untilOldestLeavesMs: Math.round(startTicks + windowMs - rejectedTicks),
    acceptedAfterStated: after && after.status === 200,
    status,
    code: error?.code ?? null,
    message: error?.message ?? null,
    ...others,
  };
}

type Send = () => Promise<http.SentResponse>;

/** Sends `me` with a token of the key; the partner's key on the gateway only. */
function meSender(
  { access, session, sender }: Measuring,
  router: "base" | "gateway",
  token: "reader" | "partner" = "reader",
): Send {
  const url = router === "base" ? access.baseUrl : String(access.gatewayUrl);
  return async () =>
    sender.send(http.graphqlRequest(url, { query: "{ me { __typename } }" }, await session.token(token)));
}

interface Burst {
  readonly accepted: number;
  readonly rejection: http.SentResponse | null;
}

async function burst(send: Send, max: number): Promise<Burst> {
  let accepted = 0;
  for (let sent = 0; sent < max; sent += atOnce) {
    const responses = await Promise.all(Array.from({ length: Math.min(atOnce, max - sent) }, send));
    accepted += responses.filter(({ status }) => status !== 429).length;
    const rejection = responses.find(({ status }) => status === 429);
    if (rejection) return { accepted, rejection };
  }
  return { accepted, rejection: null };
}

/** What other requests get while the limit of the workspace's key is used up. */
async function whileRejected(context: Measuring): Promise<Facts> {
  const { access, sender } = context;
  const { admin, readOnly, partner } = access.keys;
  const variables = { refreshToken: admin ?? readOnly };
  const exchangeBody = { query: operationDocuments.ExchangeApiKey.text, variables };
  const exchange = await sender.send(http.graphqlRequest(access.baseUrl, exchangeBody));
  const onGateway = async (token: "reader" | "partner") => {
    if (access.gatewayUrl === null) return null;
    try {
      return (await meSender(context, "gateway", token)()).status === 429;
    } catch (error) {
      // Without a token the other facts are known all the same.
      if (error instanceof NoTokenError) return null;
      throw error;
    }
  };
  return {
    exchangeRejected: exchange.status === 429,
    gatewayRejected: await onGateway("reader"),
    partnerRejected: partner === undefined ? null : await onGateway("partner"),
  };
}

/** Only whole seconds are what the interface says. */
function retryAfterMs({ headers }: http.SentResponse): number | null {
  const text = headers.get("retry-after") ?? "";
  return /^\d{1,6}$/.test(text) ? Number(text) * 1_000 : null;
}

const observe = (response: http.SentResponse, { clock }: Measuring) =>
  observeResponse(response, {
    router: "base",
    document: null,
    pseudonyms: createPseudonyms(clock.now()),
    sent: new Set(),
    nowMs: clock.now(),
  });
