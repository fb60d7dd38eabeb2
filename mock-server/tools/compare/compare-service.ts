import type { Clock } from "@workspace-tasks/kernel/clock.ts";
import type { SettingsChanges, VirtualClock } from "@workspace-tasks/mock-server";
import { withSettings } from "@workspace-tasks/mock-server/parts";
import { type Plan, planProbes } from "./catalogue/catalogue.ts";
import { endpointList } from "./catalogue/endpoints.ts";
import { evaluateAssumptions } from "./evaluate/assumptions.ts";
import { evaluate } from "./evaluate/evaluate-rules.ts";
import { proposedSettings } from "./evaluate/proposed-settings.ts";
import { type MockSide, observeMock } from "./mock-side.ts";
import { type Evidence, type Observation, toEvidence } from "./observe/observation.ts";
import { type Captured, observeDeliveries } from "./observe/observe-delivery.ts";
import { type CompareReport, emptyReport } from "./report/compare-report.ts";
import { isDifference } from "./report/summary.ts";
import { roleOf } from "./rules/read-response.ts";
import { isUnknown, responseOf } from "./rules/rule.ts";
import { type CreatedEndpoints, markOf } from "./run/created-endpoints.ts";
import { measureRateLimit } from "./run/measure-rate-limit.ts";
import { createPacer, type Pacer, shareOf } from "./run/pacer.ts";
import { preflight } from "./run/preflight.ts";
import {
  type AgreesToRemove,
  expected,
  joinRemovals,
  type Removal,
  removalMsMax,
  removeCreated,
  removeEarlier,
} from "./run/remove-created.ts";
import { runProbes } from "./run/run-probes.ts";
import { createSender, type SenderStats } from "./run/send-request.ts";
import { type Access, createSession } from "./run/session.ts";

export type ObserveMock = (side: MockSide) => Promise<Evidence>;

export interface CompareOptions {
  readonly access: Access;
  readonly fetch: (url: string, init: RequestInit) => Promise<Response>;
  readonly clock: Clock | VirtualClock;
  readonly plan: Plan;
  readonly runId: string;
  /** Deliveries that a receiver has captured. */
  readonly captured?: Captured | undefined;
  /** Settings of the mock that the service is compared with. The run takes a third of their rate limit. */
  readonly settings?: SettingsChanges | undefined;
  /** Default: a mock that is started for the comparison. */
  readonly mock?: ObserveMock | undefined;
  readonly signal: AbortSignal;
  /** Learns at once what the run creates and removes. */
  readonly created: CreatedEndpoints;
  /** Whether endpoints that earlier runs have left are removed, before a run that creates some. Default: no. */
  readonly agrees?: AgreesToRemove | undefined;
  readonly onObservation?: ((observation: Observation, done: number, total: number) => void) | undefined;
  readonly onWait?: ((ms: number, reason: string) => void) | undefined;
}

/** Sends what the rules send to a service and to a mock, and compares what both did. */
export async function compareService(options: CompareOptions): Promise<CompareReport> {
  const { plan, settings, captured } = options;
  const { rateLimit } = withSettings(settings);
  const writes = plan.permissions.has("write");
  const { pacer, sender, session, problem } = await connect({ ...options, writes });
  if (problem) return { ...emptyReport, problem, stats: sender.stats };
  const removing = { ...options, sender, session };
  const earlier =
    writes && options.agrees
      ? // A key that may not list endpoints is named by the rules.
        await removeEarlier(options.created, removing, options.agrees).catch(
          (error) => expected(error) && null,
        )
      : null;
  const probes = planProbes(plan);
  const onObservation = (observation: Observation, done = probes.length) =>
    options.onObservation?.(observation, done, probes.length);
  const mark = markOf(options.runId);
  const context = { ...options, onObservation, sender, session, mark, rateLimit };
  let removal: Removal | null = null;
  const { observations, stopped } = await runProbes(probes, context).finally(async () => {
    if (writes)
      removal = joinRemovals(earlier, await clean({ ...options, pacer, mark, stats: sender.stats }));
  });
  // Last: requests of the removal would be rejected after it.
  const exceeds = plan.permissions.has("exceed") && stopped === null;
  const further = [
    ...(captured ? [observeDeliveries(captured)] : []),
    ...(exceeds ? [await measureRateLimit(context)] : []),
  ];
  for (const observation of further) onObservation(observation);
  const report = await evaluateRecord([...observations, ...further], plan, settings, options.mock);
  return { ...report, removal, stats: sender.stats, stopped };
}

type Connection = Pick<
  CompareOptions,
  "access" | "fetch" | "clock" | "settings" | "signal" | "created" | "onWait"
>;

async function connect(options: Connection & { readonly writes: boolean }) {
  const { access, clock, settings } = options;
  const pacer = createPacer(clock, shareOf(withSettings(settings).rateLimit));
  const sender = createSender({ ...options, pacer });
  const session = createSession(access, sender, clock);
  return { pacer, sender, session, problem: await preflight(access, sender, session) };
}

/** Removes what earlier runs have left, and compares nothing. Without a removal it was not agreed to. @throws SendError */
export async function cleanService(
  options: Connection & { readonly agrees: AgreesToRemove },
): Promise<Pick<CompareReport, "problem" | "removal">> {
  const { problem, ...connection } = await connect({ ...options, writes: true });
  if (problem) return { problem, removal: null };
  const removal = await removeEarlier(options.created, { ...options, ...connection }, options.agrees);
  return { problem, removal };
}

interface Cleaning extends CompareOptions {
  readonly pacer: Pacer;
  readonly mark: string;
  readonly stats: SenderStats;
}

/** Removes what the run has created, also after it was stopped. */
async function clean(cleaning: Cleaning): Promise<Removal> {
  const { access, clock, pacer, mark, fetch, onWait, stats, created } = cleaning;
  if (!created.hasSent()) return { removed: 0, left: [], problem: null, command: null };
  const deadline = new AbortController();
  const cancel = clock.schedule(removalMsMax, () => deadline.abort());
  // A few requests above the run's share: a user who waits for the end after Ctrl-C presses it again.
  const unpaced = { ...pacer, waitMs: pacer.pausedMs };
  const { signal } = deadline;
  const sender = createSender({ fetch, clock, pacer: unpaced, signal, onWait, writes: true, stats, created });
  const session = createSession(access, sender, clock);
  const context = { access, sender, session, clock, signal, onWait };
  return removeCreated(created, context, ({ url }) => url.includes(mark)).finally(cancel);
}

/** Evaluates observations without a service. */
export async function evaluateRecord(
  observations: readonly Observation[],
  plan: Plan,
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
  const notExpressed = remaining.filter(isDifference).map(({ id }) => id);
  const assumptions = evaluateAssumptions(rules);
  return { ...emptyReport, rules, assumptions, notes: notesOf(service, plan), settings, notExpressed };
}

function notesOf(service: Evidence, { keys }: Plan): readonly string[] {
  const role = roleOf(service);
  if (role !== null && role !== "admin")
    return [`The key's user has the role ${role}: webhook operations need an administrator's key.`];
  const listed = responseOf(service, endpointList);
  if (isUnknown(listed) || !listed.errors?.length || !keys.has("admin")) return [];
  return [
    "The key may not list webhook endpoints. If it was created as read_only, pass it as WORKSPACE_TASKS_READ_ONLY_API_KEY.",
  ];
}
