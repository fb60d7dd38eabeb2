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

// A rule's instructions are used up in order by the calls that match it, as if a script were read aloud;
// chances are drawn from a stream per rule, so that one rule's draws never shift another's. Every rule
// that matches contributes, in the order of the plan.

/** Log entries kept; older ones go first. */
const firedMax = 10_000;

export interface FaultStore {
  /** Replaces the plan and starts every instruction list anew; the log stays. */
  replace(plan: FaultPlan): void;
  /** Forgets the plan and the log. */
  clear(): void;
  /** The plan with what is left of its instructions. */
  plan(): FaultPlan;
  fired(): readonly FiredFault[];
  /** The faults injected into this call, in order. Uses up the next instruction of each matching rule. */
  drawApi(call: ApiCall): ApiFault[];
  /** The faults injected into this delivery attempt, in order. */
  drawDelivery(attempt: DeliveryAttempt): DeliveryFault[];
  snapshot(): FaultSnapshot;
  restore(snapshot: FaultSnapshot): void;
}

export type FaultSnapshot = { readonly plan: FaultPlan; readonly fired: readonly FiredFault[] };

export type ApiCall = {
  /** The API key or partner key behind the call; `null` when there is none. */
  readonly keyId: string | null;
  readonly router: Router;
  /** Top-level fields of the operation. */
  readonly operations: readonly string[];
};

export type DeliveryAttempt = {
  readonly endpointId: string;
  readonly eventName: string;
  /** The delivery. */
  readonly id: string;
};

export interface FaultStoreOptions {
  readonly random: Pick<RandomStreams, "number">;
  readonly clock: Pick<Clock, "now">;
  emit(activity: { readonly type: "fault.fired"; readonly entry: FiredFault }): void;
}

type RuleState<Rule, Fault> = {
  readonly rule: Rule & { readonly chances?: readonly ProbabilisticFault<Fault>[] | undefined };
  readonly left: Fault[];
};

export function createFaultStore({ random, clock, emit }: FaultStoreOptions): FaultStore {
  let api: RuleState<ApiFaultRule, ApiFault>[] = [];
  let deliveries: RuleState<DeliveryFaultRule, DeliveryFault>[] = [];
  let fired: FiredFault[] = [];
  let sequence = 0;

  const replace = (plan: FaultPlan) => {
    api = (plan.api ?? []).map((rule) => ({ rule, left: [...(rule.instructions ?? [])] }));
    deliveries = (plan.deliveries ?? []).map((rule) => ({ rule, left: [...(rule.instructions ?? [])] }));
  };

  const plan = (): FaultPlan => ({
    api: api.map(({ rule, left }) => ({ ...rule, instructions: [...left] })),
    deliveries: deliveries.map(({ rule, left }) => ({ ...rule, instructions: [...left] })),
  });

  const draw = <Rule, Fault extends ApiFault | DeliveryFault>(
    side: FiredFault["side"],
    scripts: readonly RuleState<Rule, Fault>[],
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
    for (const [index, { rule, left }] of scripts.entries()) {
      if (!matches(rule)) continue;
      const instructed = left.shift();
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

function matchesAttempt(rule: DeliveryFaultRule, attempt: DeliveryAttempt): boolean {
  return (
    (rule.endpointId === undefined || rule.endpointId === attempt.endpointId) &&
    (rule.event === undefined || rule.event === attempt.eventName)
  );
}
