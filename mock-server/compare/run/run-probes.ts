// Sends the probes of a plan one after the other and redacts each response before anything else sees it.

import { type DocumentNode, parse } from "graphql";
import type { Clock } from "../../time/clock.ts";
import type { VirtualClock } from "../../time/virtual-clock.ts";
import type { Observation } from "../observe/observation.ts";
import { observeResponse, type RawResponse } from "../observe/observe-response.ts";
import { createPseudonyms, type Pseudonyms } from "../observe/redact-data.ts";
import { withoutTexts } from "../observe/without-texts.ts";
import { isGraphql, type Probe } from "../plan/probe.ts";
import {
  type LateSources,
  resolveLate,
  resolveTemplate,
  textsOf,
  UnresolvedError,
} from "./resolve-template.ts";

import { SendError, type Sender, type SentResponse, type WireRequest } from "./send-request.ts";
import { type Access, NoTokenError, type Session } from "./session.ts";
import { sleep } from "./sleep.ts";

export interface RunLimits {
  readonly requestsPerMinute: number;
  readonly requestsMax: number;
  readonly timeoutMs: number;
  readonly runTimeoutMs: number;
}

export const runDefaults: RunLimits = {
  requestsPerMinute: 40,
  requestsMax: 200,
  timeoutMs: 15_000,
  runTimeoutMs: 900_000,
};

export interface RunOptions {
  readonly access: Access;
  readonly clock: Clock | VirtualClock;
  readonly sender: Sender;
  readonly runTimeoutMs: number;
  readonly session: Session;
  /** Path of the URLs of this run, by which its objects are found. */
  readonly mark: string;
  readonly signal: AbortSignal;
  readonly onObservation?: ((observation: Observation, done: number) => void) | undefined;
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
}

export async function runProbes(plan: readonly Probe[], options: RunOptions): Promise<RunResult> {
  const { clock, signal } = options;
  const startedTicks = clock.monotonic();
  const run: Run = { options, startedTicks, pseudonyms: createPseudonyms(clock.now()) };
  const observations: Observation[] = [];
  let responses = new Map<string, unknown>();
  let groupName = "";

  let failedInARow = 0;
  const finish = (stopped: string | null): RunResult => ({ observations, stopped });
  for (const probe of plan) {
    if (signal.aborted) return finish("stopped");
    if (clock.monotonic() - startedTicks > options.runTimeoutMs)
      return finish(`the time limit of ${options.runTimeoutMs} ms`);
    if (probe.group !== groupName) responses = new Map();
    groupName = probe.group;
    const observation = await observe(run, probe, responses);
    if (typeof observation === "string") return finish(observation);
    observations.push(observation);
    options.onObservation?.(observation, observations.length);
    failedInARow = observation.outcome === "failed" ? failedInARow + 1 : 0;
    if (observation.outcome === "failed" && failedInARow === failedInARowMax)
      return finish(`${failedInARowMax} probes in a row had no response: ${observation.reason}`);
  }
  return finish(null);
}

/** The observation, or why the run ends. */
async function observe(
  run: Run,
  probe: Probe,
  responses: Map<string, unknown>,
): Promise<Observation | string> {
  const { options, startedTicks, pseudonyms } = run;
  const { clock, access, mark, signal, onWait } = options;
  const timeOfRun = () => Math.round(clock.monotonic() - startedTicks);
  let atMs = timeOfRun();
  const sources: LateSources = { responses, keys: access.keys, mark };
  try {
    if (probe.waitMs !== undefined) {
      onWait?.(probe.waitMs, `for ${probe.id}`);
      await sleep(clock, probe.waitMs, signal);
      atMs = timeOfRun();
    }
    const variables = isGraphql(probe.request) ? resolveTemplate(probe.request.variables ?? {}, sources) : {};
    const sentTicks = clock.monotonic();
    const response = await sendProbe(run, probe, variables, sources);
    responses.set(probe.id, response.json);
    const context = {
      router: probe.router,
      document: documentOf(probe),
      pseudonyms,
      sent: new Set(textsOf(variables)),
      nowMs: timeOfService(response) ?? clock.now(),
    };
    if (response.repeated && probe.permission !== "read")
      return {
        probe: probe.id,
        atMs,
        outcome: "failed",
        reason: "a response was lost, and a repeated mutation shows nothing",
      };
    const durationMs = Math.round(clock.monotonic() - sentTicks);
    return {
      probe: probe.id,
      atMs,
      outcome: "response",
      durationMs,
      response: withoutTexts(observeResponse(response, context), Object.values(access.keys)),
    };
  } catch (error) {
    if (error instanceof UnresolvedError && probe.absent !== undefined)
      return { probe: probe.id, atMs, outcome: "skipped", reason: probe.absent };
    if (error instanceof UnresolvedError || error instanceof NoTokenError)
      return { probe: probe.id, atMs, outcome: "skipped", reason: error.message };
    if (!(error instanceof SendError)) throw error;
    if (error.kind === "stopped") return "stopped";
    if (error.kind === "request-limit" || error.kind === "rate-limited") return error.message;
    return { probe: probe.id, atMs, outcome: "failed", reason: error.message };
  }
}

/** Lifetimes are measured on the service's clock: that of this computer may be wrong. */
function timeOfService({ headers }: RawResponse): number | null {
  const timeMs = Date.parse(headers.get("date") ?? "");
  return Number.isNaN(timeMs) ? null : timeMs;
}

async function sendProbe(
  run: Run,
  probe: Probe,
  variables: unknown,
  sources: LateSources,
): Promise<SentResponse> {
  const { session } = run.options;
  const { token } = probe;
  const send = async () => {
    const bearer = typeof token === "string" ? await session.token(token) : resolveLate(token, sources);
    return run.options.sender.send(toWire(run.options.access, probe, bearer, variables));
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
): WireRequest {
  const isDocument = isGraphql(request);
  const path = (isDocument ? undefined : request.path) ?? "/graphql";
  const contentType = isDocument ? "application/json" : request.contentType;
  return {
    url: `${router === "base" ? access.baseUrl : access.gatewayUrl}${path}`,
    method: isDocument ? "POST" : request.method,
    headers: {
      ...(contentType === null ? {} : { "content-type": contentType }),
      accept: "application/json",
      ...(bearer === null ? {} : { authorization: `Bearer ${bearer}` }),
      ...headers,
    },
    body: isDocument
      ? JSON.stringify({ query: request.document, variables, operationName: request.operationName })
      : request.body,
  };
}

const documents = new Map<string, DocumentNode | null>();

function documentOf({ request }: Probe): DocumentNode | null {
  const text = isGraphql(request) ? request.document : "{ __typename }";
  const known = documents.get(text);
  if (known !== undefined) return known;
  let document: DocumentNode | null = null;
  try {
    document = parse(text, { noLocation: true });
  } catch {
    // The probe with a syntax error.
  }
  documents.set(text, document);
  return document;
}
