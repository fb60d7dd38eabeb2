import type {
  ApiFault,
  ApiFaultRule,
  Chance,
  DeliveryFault,
  DeliveryFaultRule,
  FaultPlan,
  FiredFault,
} from "./fault.ts";

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
  /** True when no fault can fire, so that the hot path may skip the question. */
  readonly empty: boolean;
  fired(): readonly FiredFault[];
  /** Uses up the next instruction of each matching rule and draws its chances. */
  takeApi(call: ApiCall, chance: ChanceSource): readonly FiredFault<ApiFault>[];
  takeDelivery(attempt: DeliveryAttempt, chance: ChanceSource): readonly FiredFault<DeliveryFault>[];
  snapshot(): FaultSnapshot;
  restore(snapshot: FaultSnapshot): void;
}

export type FaultSnapshot = { readonly plan: FaultPlan; readonly fired: readonly FiredFault[] };

export type ApiCall = {
  /** The API key or partner key behind the call; `null` when there is none. */
  readonly keyId: string | null;
  readonly router: "base" | "gateway";
  /** Top-level fields of the operation. */
  readonly operations: readonly string[];
};

export type DeliveryAttempt = {
  readonly endpointId: string;
  readonly eventName: string;
  readonly deliveryId: string;
};

export type ChanceSource = {
  /** A number in [0, 1) from the stream of this name. */
  number(stream: string): number;
  nowMs(): number;
};

type Script<Rule, Fault> = {
  readonly rule: Rule & { readonly chances?: readonly Chance<Fault>[] | undefined };
  readonly left: Fault[];
};

export function createFaultStore(initial: FaultPlan = {}): FaultStore {
  let api: Script<ApiFaultRule, ApiFault>[] = [];
  let deliveries: Script<DeliveryFaultRule, DeliveryFault>[] = [];
  let fired: FiredFault[] = [];
  let sequence = 0;

  const replace = (plan: FaultPlan) => {
    api = (plan.api ?? []).map((rule) => ({ rule, left: [...(rule.instructions ?? [])] }));
    deliveries = (plan.deliveries ?? []).map((rule) => ({ rule, left: [...(rule.instructions ?? [])] }));
  };
  replace(initial);

  const plan = (): FaultPlan => ({
    api: api.map(({ rule, left }) => ({ ...rule, instructions: [...left] })),
    deliveries: deliveries.map(({ rule, left }) => ({ ...rule, instructions: [...left] })),
  });

  const record = <Fault extends ApiFault | DeliveryFault>(entry: Omit<FiredFault<Fault>, "sequence">) => {
    const numbered: FiredFault<Fault> = { sequence: ++sequence, ...entry };
    fired.push(numbered);
    if (fired.length > firedMax) fired.shift();
    return numbered;
  };

  return {
    replace,
    plan,
    clear() {
      replace({});
      fired = [];
    },
    get empty() {
      return api.length === 0 && deliveries.length === 0;
    },
    fired: () => fired,
    takeApi(call, chance) {
      const matches = (rule: ApiFaultRule) => matchesCall(rule, call);
      const subject = call.operations.join(" ");
      return [...drawFaults(api, matches, "api", chance)].map(({ rule, fault }) =>
        record({ atMs: chance.nowMs(), side: "api", rule, fault, subject }),
      );
    },
    takeDelivery(attempt, chance) {
      const matches = (rule: DeliveryFaultRule) => matchesAttempt(rule, attempt);
      return [...drawFaults(deliveries, matches, "delivery", chance)].map(({ rule, fault }) =>
        record({ atMs: chance.nowMs(), side: "delivery", rule, fault, subject: attempt.deliveryId }),
      );
    },
    snapshot: () => ({ plan: plan(), fired: [...fired] }),
    restore(snapshot) {
      replace(snapshot.plan);
      fired = [...snapshot.fired];
      sequence = fired.at(-1)?.sequence ?? 0;
    },
  };
}

function* drawFaults<Rule, Fault extends { readonly kind: string }>(
  scripts: readonly Script<Rule, Fault>[],
  matches: (rule: Rule) => boolean,
  side: string,
  chance: ChanceSource,
): Generator<{ rule: number; fault: Fault }> {
  for (const [index, { rule, left }] of scripts.entries()) {
    if (!matches(rule)) continue;
    const instructed = left.shift();
    if (instructed && instructed.kind !== "pass") yield { rule: index, fault: instructed };
    for (const { probability, fault } of rule.chances ?? []) {
      if (chance.number(`fault/${side}/${index}`) < probability) yield { rule: index, fault };
    }
  }
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
