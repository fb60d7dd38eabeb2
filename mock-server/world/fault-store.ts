// Each matching call consumes the rule's next instruction; chances are drawn from a stream per rule, so that one
// rule's draws never shift another's. All rules that match contribute, in the order of the plan.

import type {
  ApiFault,
  ApiFaultRule,
  DeliveryFault,
  DeliveryFaultRule,
  FaultPlan,
  FiredFault,
  ProbabilisticFault,
} from "../state/fault.ts";
import type { Router } from "../state/router.ts";
import type { Clock } from "../time/clock.ts";
import type { RandomStreams } from "./random.ts";

/** Log entries kept; the oldest are dropped first. */
const firedMax = 10_000;

export interface FaultStore {
  /** Replaces the plan, with all instructions unused; the log stays. */
  replace(plan: FaultPlan): void;
  /** Removes the plan and the log. */
  clear(): void;
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

export type FaultSnapshot = { readonly plan: FaultPlan; readonly fired: readonly FiredFault[] };

export interface ApiCall {
  /** The API key or partner key behind the call; `null` when there is none. */
  readonly keyId: string | null;
  readonly router: Router;
  /** Top-level fields of the operation. */
  readonly operations: readonly string[];
}

export interface AttemptTarget {
  readonly endpointId: string;
  readonly eventName: string;
  /** The delivery. */
  readonly id: string;
}

export interface FaultStoreOptions {
  readonly random: Pick<RandomStreams, "number">;
  readonly clock: Pick<Clock, "now">;
  emit(activity: { readonly type: "fault.fired"; readonly entry: FiredFault }): void;
}

interface RuleState<Rule, Fault> {
  readonly rule: Rule & { readonly chances?: readonly ProbabilisticFault<Fault>[] | undefined };
  readonly remaining: Fault[];
}

export function createFaultStore({ random, clock, emit }: FaultStoreOptions): FaultStore {
  let api: RuleState<ApiFaultRule, ApiFault>[] = [];
  let deliveries: RuleState<DeliveryFaultRule, DeliveryFault>[] = [];
  let fired: FiredFault[] = [];
  let sequence = 0;

  const replace = (plan: FaultPlan) => {
    api = (plan.api ?? []).map((rule) => ({ rule, remaining: [...(rule.instructions ?? [])] }));
    deliveries = (plan.deliveries ?? []).map((rule) => ({ rule, remaining: [...(rule.instructions ?? [])] }));
  };

  const plan = (): FaultPlan => ({
    api: api.map(({ rule, remaining }) => ({ ...rule, instructions: [...remaining] })),
    deliveries: deliveries.map(({ rule, remaining }) => ({ ...rule, instructions: [...remaining] })),
  });

  const draw = <Rule, Fault extends ApiFault | DeliveryFault>(
    side: FiredFault["side"],
    rules: readonly RuleState<Rule, Fault>[],
    matches: (rule: Rule) => boolean,
    subject: string,
  ): Fault[] => {
    const drawn: Fault[] = [];
    const inject = (rule: number, fault: Fault) => {
      drawn.push(fault);
      const entry = { sequence: ++sequence, atMs: clock.now(), side, rule, fault, subject };
      fired.push(entry);
      if (fired.length > firedMax) fired.shift();
      emit({ type: "fault.fired", entry });
    };
    for (const [index, { rule, remaining }] of rules.entries()) {
      if (!matches(rule)) continue;
      const instructed = remaining.shift();
      if (instructed && instructed.kind !== "pass") inject(index, instructed);
      for (const { probability, fault } of rule.chances ?? []) {
        if (random.number(`fault/${side}/${index}`) < probability) inject(index, fault);
      }
    }
    return drawn;
  };

  return {
    replace,
    plan,
    clear() {
      replace({});
      fired = [];
    },
    fired: () => fired,
    drawApi: (call) => draw("api", api, (rule) => matchesCall(rule, call), call.operations.join(" ")),
    drawDelivery: (attempt) =>
      draw("delivery", deliveries, (rule) => matchesAttempt(rule, attempt), attempt.id),
    snapshot: () => ({ plan: plan(), fired: [...fired] }),
    restore(snapshot) {
      replace(snapshot.plan);
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
