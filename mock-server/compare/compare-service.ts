import type { SettingsChanges } from "../settings.ts";
import type { Clock } from "../time/clock.ts";
import type { VirtualClock } from "../time/virtual-clock.ts";
import { evaluateAssumptions } from "./evaluate/assumptions.ts";
import { evaluate } from "./evaluate/evaluate-rules.ts";
import { proposedSettings } from "./evaluate/proposed-settings.ts";
import { type MockSide, observeMock } from "./mock-side.ts";
import { type Evidence, type Observation, rateLimitProbe, toEvidence } from "./observe/observation.ts";
import { type PlanInput, planProbes } from "./plan/plan-probes.ts";
import type { KeyName, Probe } from "./plan/probe.ts";
import { joinPlans } from "./record.ts";
import { type CompareReport, emptyReport } from "./report/compare-report.ts";
import { roleOf } from "./rules/read-response.ts";
import {
  awaitDeliveries,
  type Captured,
  capturedObservations,
  type Listening,
} from "./run/await-deliveries.ts";
import { measureRateLimit } from "./run/measure-rate-limit.ts";
import { createPacer, type Pacer } from "./run/pacer.ts";
import { preflight } from "./run/preflight.ts";
import { type Removal, removeCreated } from "./run/remove-created.ts";
import { type RunLimits, runProbes } from "./run/run-probes.ts";
import { createSender, type SenderStats } from "./run/send-request.ts";
import { type Access, createSession } from "./run/session.ts";

export type ObserveMock = (side: MockSide) => Promise<Evidence>;

export interface CompareOptions {
  readonly access: Access;
  readonly fetch: (url: string, init: RequestInit) => Promise<Response>;
  readonly clock: Clock | VirtualClock;
  readonly plan: PlanInput;
  readonly limits: RunLimits;
  readonly runId: string;
  /** Deliveries that a receiver has captured. */
  readonly captured?: Captured | undefined;
  /** Registers an endpoint for a receiver and awaits deliveries; needs the permission to write. */
  readonly listening?: Listening | undefined;
  /** Settings of the mock that the service is compared with. */
  readonly settings?: SettingsChanges | undefined;
  /** Default: a mock that is started for the comparison. */
  readonly mock?: ObserveMock | undefined;
  /** An interrupted run that is continued. */
  readonly earlier?: Earlier | null | undefined;
  readonly signal: AbortSignal;
  readonly onObservation?: ((observation: Observation, done: number, total: number) => void) | undefined;
  readonly onWait?: ((ms: number, reason: string) => void) | undefined;
}

export interface Earlier {
  readonly observations: readonly Observation[];
  readonly plan: PlanInput;
}

/** Sends the planned probes to a service and to a mock, and compares what both did. */
export async function compareService(options: CompareOptions): Promise<CompareReport> {
  const { access, clock, plan, limits } = options;
  const earlier = options.earlier?.observations ?? [];
  const probes = planProbes(plan);
  const done = completeGroups(probes, toEvidence(earlier));
  const rest = probes.filter(({ group }) => !done.has(group));
  const repeated = new Set(rest.map(({ group }) => group));
  const kept = earlier.filter(({ probe }) => !repeated.has(probe.slice(0, probe.indexOf("."))));
  const pacer = createPacer(clock, limits.requestsPerMinute);
  const writes = plan.permissions.has("write");
  const requestsMax = Math.max(1, limits.requestsMax - (writes ? cleaningRequestsUsual : 0));
  const sender = createSender({ ...options, ...limits, requestsMax, pacer, writes });
  const { listening, captured } = options;
  if (rest.length > 0 || listening || plan.permissions.has("exceed")) {
    const problem = await preflight(access, sender);
    if (problem) return { ...emptyReport, problem, stats: sender.stats };
  }
  const mark = `/workspace-tasks-compare/${options.runId}/`;
  let removal: Removal | null = null;
  const context = { ...options, sender, session: createSession(access, sender, clock), mark };
  const ofProbes = kept.filter(({ probe }) => probes.some(({ id }) => id === probe)).length;
  const note = (observation: Observation, count: number) =>
    options.onObservation?.(observation, ofProbes + count, probes.length);
  const runAll = async () => {
    const run = await runProbes(rest, { ...context, runTimeoutMs: limits.runTimeoutMs, onObservation: note });
    const further: Observation[] = captured ? [...capturedObservations(captured)] : [];
    for (const observation of further) note(observation, run.observations.length);
    const measure = async (measured: Promise<readonly Observation[]>) => {
      for (const observation of await measured) {
        further.push(observation);
        note(observation, run.observations.length);
      }
    };
    if (listening && run.stopped === null)
      await measure(awaitDeliveries(listening, { ...context, baseUrl: access.baseUrl }));
    return { ...run, observations: [...run.observations, ...further] };
  };
  const { observations, stopped } = await runAll().finally(async () => {
    if (writes) removal = await clean({ ...options, pacer, mark }, sender.stats);
  });
  // Last: requests of the removal would be rejected after it.
  const measured: Observation[] = [];
  if (plan.permissions.has("exceed") && stopped === null && !isMeasured(earlier)) {
    measured.push(await measureRateLimit(context));
    for (const observation of measured) note(observation, observations.length);
  }
  const whole = options.earlier ? joinPlans(plan, options.earlier.plan) : plan;
  const report = await evaluateRecord(
    [...kept, ...observations, ...measured],
    whole,
    options.settings,
    options.mock,
  );
  return { ...report, removal, stats: sender.stats, stopped };
}

const isMeasured = (earlier: readonly Observation[]) =>
  earlier.some(({ probe, outcome }) => probe === rateLimitProbe && outcome === "measured");

interface Cleaning extends CompareOptions {
  readonly pacer: Pacer;
  readonly mark: string;
}

const cleaningMsMax = 120_000;
/** Kept for the removal of what a run created. More are sent when more has to be removed. */
const cleaningRequestsUsual = 15;
const cleaningRequestsMax = 150;

/** Removes what the run has created, also after it was stopped. */
async function clean(
  { access, clock, pacer, mark, limits, fetch, onWait }: Cleaning,
  stats: SenderStats,
): Promise<Removal> {
  const deadline = new AbortController();
  const cancel = clock.schedule(cleaningMsMax, () => deadline.abort());
  const { timeoutMs } = limits;
  const { signal } = deadline;
  const sender = createSender({
    fetch,
    clock,
    // A few requests above the run's share: a user who waits for the end after Ctrl-C presses it again.
    pacer: { ...pacer, waitMs: pacer.pausedMs },
    timeoutMs,
    signal,
    onWait,
    writes: true,
    requestsMax: cleaningRequestsMax,
  });
  const removal = await removeCreated(mark, access.baseUrl, sender, createSession(access, sender, clock));
  cancel();
  stats.requests += sender.stats.requests;
  stats.rateLimited += sender.stats.rateLimited;
  stats.lost += sender.stats.lost;
  return removal;
}

/** Evaluates observations without a service. */
export async function evaluateRecord(
  observations: readonly Observation[],
  plan: PlanInput,
  base: SettingsChanges = {},
  mock: ObserveMock = observeMock,
): Promise<CompareReport> {
  const service = toEvidence(observations);
  const evaluateWith = async (settings: SettingsChanges) =>
    evaluate(service, await mock({ plan: planProbes(plan), settings, service }), plan);
  const rules = await evaluateWith(base);
  const settings = proposedSettings(rules, base);
  // What settings express is not claimed but tried: a mock that has them is compared again.
  const isTried = rules.some((rule) => rule.settings);
  const remaining = isTried ? await evaluateWith(settings) : rules;
  const notExpressed = remaining.filter(({ verdict }) => verdict === "refuted").map(({ id }) => id);
  const assumptions = evaluateAssumptions(rules);
  return { ...emptyReport, rules, assumptions, notes: notesOf(service, plan), settings, notExpressed };
}

/** Groups of which every probe has a response, or was skipped on purpose. */
function completeGroups(plan: readonly Probe[], earlier: Evidence): ReadonlySet<string> {
  const groups = new Set(plan.map(({ group }) => group));
  for (const { id, group } of plan) {
    const outcome = earlier.get(id)?.outcome;
    if (outcome === undefined || outcome === "failed") groups.delete(group);
  }
  return groups;
}

function notesOf(service: Evidence, { keys }: PlanInput): readonly string[] {
  const role = roleOf(service);
  const listed = service.get("endpoints.list");
  const isRejected = listed?.outcome === "response" && (listed.response.errors ?? []).length > 0;
  const notes: string[] = [];
  if (role !== null && role !== "admin") {
    notes.push(`The key's user has the role ${role}: webhook operations need an administrator's key.`);
  } else if (isRejected && keys.has("admin" satisfies KeyName)) {
    notes.push(
      "The key may not list webhook endpoints. If it was created as read_only, pass it as WORKSPACE_TASKS_READ_ONLY_API_KEY.",
    );
  }
  return notes;
}
