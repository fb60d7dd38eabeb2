// Each matching call consumes the rule's next instruction. A chance is decided by the seed, the rule, and what it is drawn
// for: the delivery and its attempt, or the request (key, router, body) and how often it has been made. So neither other
// rules nor the order in which sockets respond change it. All rules that match contribute, in the order of the plan.

import type { Clock } from "@workspace-tasks/kernel/clock.ts";
import type {
  ApiFault,
  ApiFaultRule,
  DeliveryFault,
  DeliveryFaultRule,
  FaultPlan,
  FiredFault,
  ProbabilisticFault,
  Router,
} from "../state/fault.ts";
import type { Hashing, RandomStreams } from "./random.ts";

/** Log entries kept; the oldest are dropped first. */
const firedMax = 10_000;
/** Requests that are counted; of a forgotten one the first draw is repeated. */
const requestsMax = 10_000;

export interface FaultStore {
  /** Replaces the plan, with all instructions unused; the log stays. */
  replace(plan: FaultPlan): void;
  /** Adds rules after those of the plan, which stay as they are. */
  add(plan: FaultPlan): void;
  /** Ends the rule with this id. @returns whether there was one */
  remove(id: number): boolean;
  /** Removes the plan and the log. */
  clear(): void;
  rules(): readonly FaultRuleEntry[];
  /** The plan with the remaining instructions. */
  plan(): FaultPlan;
  fired(): readonly FiredFault[];
  /** The faults injected into this call, in order. Uses up the next instruction of each matching rule. */
  drawApi(call: ApiCall): ApiFault[];
  /** The faults injected into this delivery attempt, in order. */
  drawDelivery(attempt: AttemptTarget): DeliveryFault[];
  snapshot(): FaultSnapshot;
  restore(snapshot: FaultSnapshot): void;
}

/** Where the rule with this id is in the plan. An id is used once, whatever changes the plan. */
export interface FaultRuleEntry {
  readonly id: number;
  readonly side: "api" | "deliveries";
  readonly index: number;
}

export interface FaultSnapshot {
  readonly plan: FaultPlan;
  readonly fired: readonly FiredFault[];
  /** How often each request has been made, by its identity. */
  readonly requests: Readonly<Record<string, number>>;
}

export interface ApiCall {
  /** The API key or partner key behind the call; `null` when there is none. */
  readonly keyId: string | null;
  readonly router: Router;
  /** Top-level fields of the operation. */
  readonly operations: readonly string[];
  /** What tells this request from others: its body, or its path. */
  readonly content: string;
  /** Whether the rate limit counts it. Default: true. */
  readonly isCounted?: boolean | undefined;
}

export interface AttemptTarget {
  readonly endpointId: string;
  readonly eventName: string;
  /** The delivery. */
  readonly id: string;
  /** Number of the scheduled attempt. */
  readonly attempt: number;
}

export interface FaultStoreOptions {
  readonly random: Pick<RandomStreams, "numberOf">;
  readonly clock: Pick<Clock, "now">;
  readonly hashing: Pick<Hashing, "sha256">;
  emit(activity: { readonly type: "fault.fired"; readonly entry: FiredFault }): void;
}

interface RuleState<Rule, Fault> {
  readonly id: number;
  readonly rule: Rule & { readonly chances?: readonly ProbabilisticFault<Fault>[] | undefined };
  readonly remaining: Fault[];
}

interface DrawTarget {
  readonly subject: string;
  readonly identity: () => string;
  /** Whether the rate limit counts the call. */
  readonly isCounted?: boolean | undefined;
}

export function createFaultStore({ random, clock, hashing, emit }: FaultStoreOptions): FaultStore {
  let api: RuleState<ApiFaultRule, ApiFault>[] = [];
  let deliveries: RuleState<DeliveryFaultRule, DeliveryFault>[] = [];
  let fired: FiredFault[] = [];
  let sequence = 0;
  let requests = new Map<string, number>();

  let newestId = 0;
  const stateOf = <Rule extends { readonly instructions?: readonly Fault[] | undefined }, Fault>(
    rule: Rule,
  ) => ({ id: ++newestId, rule, remaining: [...(rule.instructions ?? [])] });

  const replace = (plan: FaultPlan) => {
    api = [];
    deliveries = [];
    add(plan);
  };

  const add = (plan: FaultPlan) => {
    api = [...api, ...(plan.api ?? []).map(stateOf<ApiFaultRule, ApiFault>)];
    deliveries = [...deliveries, ...(plan.deliveries ?? []).map(stateOf<DeliveryFaultRule, DeliveryFault>)];
  };

  const plan = (): FaultPlan => ({
    api: api.map(({ rule, remaining }) => ({ ...rule, instructions: [...remaining] })),
    deliveries: deliveries.map(({ rule, remaining }) => ({ ...rule, instructions: [...remaining] })),
  });

  const draw = <Rule, Fault extends ApiFault | DeliveryFault>(
    side: FiredFault["side"],
    rules: readonly RuleState<Rule, Fault>[],
    matches: (rule: Rule) => boolean,
    { subject, identity, isCounted = true }: DrawTarget,
  ): Fault[] => {
    const applies = (fault: Fault) => isCounted || fault.kind !== "rate-limited";
    const drawn: Fault[] = [];
    const inject = (rule: number, fault: Fault) => {
      drawn.push(fault);
      const entry = { sequence: ++sequence, atMs: clock.now(), side, rule, fault, subject };
      fired.push(entry);
      if (fired.length > firedMax) fired.shift();
      emit({ type: "fault.fired", entry });
    };
    let drawnFor: string | undefined;
    for (const [index, { rule, remaining }] of rules.entries()) {
      if (!matches(rule)) continue;
      const instructed = remaining[0] && applies(remaining[0]) ? remaining.shift() : undefined;
      if (instructed && instructed.kind !== "pass") inject(index, instructed);
      for (const [chance, { probability, fault }] of (rule.chances ?? []).entries()) {
        drawnFor ??= identity();
        if (!applies(fault)) continue;
        const name = `fault/${side}/${index}/${chance}/${drawnFor}`;
        if (random.numberOf(name) < probability) inject(index, fault);
      }
    }
    return drawn;
  };

  /** The identity of a request, and how often it was made before. */
  const countRequest = (request: string): string => {
    // A hash: the body may contain keys, and the counts are part of a snapshot.
    const identity = hashing.sha256(request).slice(0, 32);
    const count = requests.get(identity) ?? 0;
    requests.delete(identity);
    requests.set(identity, count + 1);
    for (const oldest of requests.keys()) {
      if (requests.size <= requestsMax) break;
      requests.delete(oldest);
    }
    return `${identity}/${count}`;
  };

  return {
    replace,
    add,
    remove(id) {
      const count = api.length + deliveries.length;
      api = api.filter((state) => state.id !== id);
      deliveries = deliveries.filter((state) => state.id !== id);
      return api.length + deliveries.length < count;
    },
    rules: () => [
      ...api.map(({ id }, index) => ({ id, side: "api" as const, index })),
      ...deliveries.map(({ id }, index) => ({ id, side: "deliveries" as const, index })),
    ],
    plan,
    clear() {
      replace({});
      fired = [];
    },
    fired: () => fired,
    drawApi(call) {
      const subject = call.operations.join(" ");
      const identity = () => countRequest(`${call.keyId}/${call.router}/${subject}/${call.content}`);
      return draw("api", api, (rule) => matchesCall(rule, call), {
        subject,
        identity,
        isCounted: call.isCounted,
      });
    },
    drawDelivery(attempt) {
      const identity = () => `${attempt.id}/${attempt.attempt}`;
      const subject = attempt.id;
      return draw("delivery", deliveries, (rule) => matchesAttempt(rule, attempt), { subject, identity });
    },
    snapshot: () => ({ plan: plan(), fired: [...fired], requests: Object.fromEntries(requests) }),
    restore(snapshot) {
      replace(snapshot.plan);
      requests = new Map(Object.entries(snapshot.requests));
      fired = [...snapshot.fired];
      sequence = fired.at(-1)?.sequence ?? 0;
    },
  };
}

function matchesCall(rule: ApiFaultRule, call: ApiCall): boolean {
  return (
    (rule.keyId === undefined || rule.keyId === call.keyId) &&
    (rule.router === undefined || rule.router === call.router) &&
    (rule.operation === undefined || call.operations.includes(rule.operation))
  );
}

function matchesAttempt(rule: DeliveryFaultRule, attempt: AttemptTarget): boolean {
  return (
    (rule.endpointId === undefined || rule.endpointId === attempt.endpointId) &&
    (rule.event === undefined || rule.event === attempt.eventName)
  );
}
