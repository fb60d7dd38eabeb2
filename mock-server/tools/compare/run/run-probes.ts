// Sends the probes of a plan one after the other and redacts each response before anything else sees it.

import type { Clock } from "@workspace-tasks/kernel/clock.ts";
import { isPlainObject } from "@workspace-tasks/kernel/plain-object.ts";
import type { VirtualClock } from "@workspace-tasks/mock-server";
import { type DocumentNode, parse } from "graphql";
import type { Observation } from "../observe/observation.ts";
import { observeResponse, type RawResponse } from "../observe/observe-response.ts";
import { createPseudonyms, type Pseudonyms } from "../observe/redact-data.ts";
import { withoutTexts } from "../observe/without-texts.ts";
import type { KeyName, Probe, SendContext } from "../rules/probe.ts";
import * as http from "./send-request.ts";
import { type Access, NoTokenError, type Session } from "./session.ts";
import { sleep } from "./sleep.ts";

export interface RunOptions {
  readonly access: Access;
  readonly clock: Clock | VirtualClock;
  readonly sender: http.Sender;
  readonly session: Session;
  /** Path of the URLs of this run, by which its objects are found. */
  readonly mark: string;
  readonly signal: AbortSignal;
  readonly onObservation?: ((observation: Observation, done?: number) => void) | undefined;
  readonly onWait?: ((ms: number, reason: string) => void) | undefined;
}

export interface RunResult {
  readonly observations: readonly Observation[];
  /** Why not every probe was sent; `null` when all were. */
  readonly stopped: string | null;
}

/** A service that is down is not asked for every probe. */
const failedInARowMax = 5;

/** What the probes of a run share. */
interface Run {
  readonly options: RunOptions;
  readonly pseudonyms: Pseudonyms;
  readonly startedTicks: number;
  /** JSON of the responses, by probe. */
  readonly responses: Map<string, unknown>;
}

export async function runProbes(plan: readonly Probe[], options: RunOptions): Promise<RunResult> {
  const { clock, signal } = options;
  const pseudonyms = createPseudonyms(clock.now());
  const run: Run = { options, startedTicks: clock.monotonic(), pseudonyms, responses: new Map() };
  const observations: Observation[] = [];
  let failedInARow = 0;
  const finish = (stopped: string | null): RunResult => ({ observations, stopped });
  for (const probe of plan) {
    if (signal.aborted) return finish("stopped");
    const observation = await observe(run, probe);
    if (typeof observation === "string") return finish(observation);
    observations.push(observation);
    options.onObservation?.(observation, observations.length);
    failedInARow = observation.outcome === "failed" ? failedInARow + 1 : 0;
    if (observation.outcome === "failed" && failedInARow === failedInARowMax)
      return finish(`${failedInARowMax} probes in a row had no response: ${observation.reason}`);
  }
  return finish(null);
}

/** A value that an earlier response of the service does not have, so the probe cannot be sent. */
class UnresolvedError extends Error {}

/** A key of no form that a service issues. */
const wrongKey = "workspace-tasks-compare-wrong-key";

const contextOf = ({ options, responses }: Run): SendContext => ({
  key: (name: KeyName | "wrong") => (name === "wrong" ? wrongKey : (options.access.keys[name] ?? wrongKey)),
  url: (name, origin = "https://receiver.invalid") => `${origin}${options.mark}${name}`,
  of(probe, path) {
    const found = `data.${path}`.split(".").reduce<unknown>(innerOf, responses.get(probe.id));
    if (typeof found === "string") return found;
    throw new UnresolvedError(`${probe.id} returned no ${path.split(".").at(-1)}`);
  },
});

const innerOf = (value: unknown, name: string): unknown =>
  Array.isArray(value) ? value[Number(name)] : isPlainObject(value) ? value[name] : undefined;

/** Every text within a value. */
function textsOf(value: unknown): readonly string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(textsOf) : [];
}

/** The observation, or why the run ends. */
async function observe(run: Run, probe: Probe): Promise<Observation | string> {
  const { clock, signal, onWait } = run.options;
  try {
    if (probe.waitMs !== undefined) {
      onWait?.(probe.waitMs, `for ${probe.id}`);
      await sleep(clock, probe.waitMs, signal);
    }
    return await observeResponseOf(run, probe);
  } catch (error) {
    const common = { probe: probe.id, atMs: Math.round(clock.monotonic() - run.startedTicks) };
    if (error instanceof UnresolvedError || error instanceof NoTokenError) {
      const absent = error instanceof UnresolvedError ? probe.absent : undefined;
      return { ...common, outcome: "skipped", reason: absent ?? error.message };
    }
    if (!(error instanceof http.SendError)) throw error;
    if (error.kind === "stopped") return "stopped";
    if (error.kind === "rate-limited") return error.message;
    return { ...common, outcome: "failed", reason: error.message };
  }
}

async function observeResponseOf(run: Run, probe: Probe): Promise<Observation> {
  const { options, startedTicks, pseudonyms, responses } = run;
  const { clock, access } = options;
  const { request, router } = probe;
  const context = contextOf(run);
  const variables = "document" in request ? request.variables(context) : {};
  const sentTicks = clock.monotonic();
  const common = { probe: probe.id, atMs: Math.round(sentTicks - startedTicks) };
  const response = await sendProbe(run, probe, variables, context);
  responses.set(probe.id, response.json);
  if (response.repeated && probe.permission !== "read")
    return {
      ...common,
      outcome: "failed",
      reason: "a response was lost, and a repeated mutation shows nothing",
    };
  const observed = observeResponse(response, {
    router,
    document: documentOf(probe),
    pseudonyms,
    sent: new Set(textsOf(variables)),
    nowMs: timeOfService(response) ?? clock.now(),
  });
  return {
    ...common,
    outcome: "response",
    durationMs: Math.round(clock.monotonic() - sentTicks),
    response: withoutTexts(observed, Object.values(access.keys)),
  };
}

/** Lifetimes are measured on the service's clock: that of this computer may be wrong. */
function timeOfService({ headers }: RawResponse): number | null {
  const timeMs = Date.parse(headers.get("date") ?? "");
  return Number.isNaN(timeMs) ? null : timeMs;
}

async function sendProbe(
  { options }: Run,
  probe: Probe,
  variables: unknown,
  context: SendContext,
): Promise<http.SentResponse> {
  const { session, sender, access } = options;
  const { token } = probe;
  const send = async () => {
    const bearer = typeof token === "string" ? await session.token(token) : token(context);
    return sender.send(toWire(access, probe, bearer, variables));
  };
  const response = await send();
  // A slow request may have arrived after the end of its token: a token of the run that is rejected is renewed once.
  const isOfSession = typeof token === "string" && token !== "none" && token !== "invalid";
  if (!isOfSession || !isUnauthenticated(response)) return response;
  session.renew(token);
  return send();
}

const isUnauthenticated = ({ status, text }: RawResponse) => status === 401 || /"UNAUTHENTICATED"/.test(text);

function toWire(
  access: Access,
  { router, request, headers }: Probe,
  bearer: string | null,
  variables: unknown,
): http.WireRequest {
  const url = router === "base" ? access.baseUrl : String(access.gatewayUrl);
  if ("document" in request) {
    const { document: query, operationName } = request;
    const wire = http.graphqlRequest(url, { query, variables, operationName }, bearer);
    return { ...wire, headers: { ...wire.headers, ...headers } };
  }
  const { method, path, contentType, body } = request;
  const { "content-type": _, ...common } = http.graphqlRequest(url, {}, bearer).headers;
  const type = contentType === null ? {} : { "content-type": contentType };
  return { url: `${url}${path}`, method, headers: { ...common, ...type, ...headers }, body };
}

function documentOf({ request }: Probe): DocumentNode | null {
  try {
    return parse("document" in request ? request.document : "{ __typename }", { noLocation: true });
  } catch {
    // The probe with a syntax error.
    return null;
  }
}
