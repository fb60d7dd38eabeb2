import type {
  ApiFault,
  DeliveryFault,
  FaultPlan,
  ProbabilisticFault,
} from "@workspace-tasks/mock-server/control";
import { formatDuration } from "./format.ts";

// Labels of injected faults, and the faults that one press adds.

export interface Preset<Fault> {
  readonly label: string;
  readonly fault: Fault;
}

export const apiPresets: readonly Preset<ApiFault>[] = [
  { label: "429 of the service", fault: { kind: "rate-limited", retryAfterSeconds: 1 } },
  { label: "503", fault: { kind: "status", status: 503, retryAfterSeconds: 1 } },
  { label: "an HTML page", fault: { kind: "html" } },
  { label: "response cut in half", fault: { kind: "truncate" } },
  { label: "connection cut before the effect", fault: { kind: "reset-before-effect" } },
  { label: "connection cut after the effect", fault: { kind: "reset-after-effect" } },
  { label: "stall after the headers", fault: { kind: "stall" } },
  { label: "response 10 s late", fault: { kind: "delay", delayMs: 10_000 } },
  { label: "token expires", fault: { kind: "expire-token" } },
  { label: "rate limit used up", fault: { kind: "burn-quota" } },
];

export const deliveryPresets: readonly Preset<DeliveryFault>[] = [
  { label: "sent twice", fault: { kind: "duplicate" } },
  { label: "out of order", fault: { kind: "reorder" } },
  { label: "1 min late", fault: { kind: "delay", delayMs: 60_000 } },
  { label: "lost in transit", fault: { kind: "drop" } },
  { label: "wrong signature", fault: { kind: "wrong-signature" } },
  { label: "stale timestamp", fault: { kind: "stale-timestamp" } },
  { label: "old secret only", fault: { kind: "old-secret-only" } },
  { label: "altered body", fault: { kind: "altered-body" } },
  { label: "redirect", fault: { kind: "redirect" } },
];

/** One line of a plan: fault, frequency and the calls or deliveries that it matches. */
export interface PlanLine {
  readonly side: "api" | "deliveries";
  /** Position of its rule in the list of that side. */
  readonly rule: number;
  readonly what: string;
  readonly often: string;
  readonly where: string;
}

/** A plan as lines; rules whose instructions are used up have none. */
export function describePlan(plan: FaultPlan): PlanLine[] {
  return (["api", "deliveries"] as const).flatMap((side) =>
    (plan[side] ?? []).flatMap((rule, index) => {
      const where = describeMatch(rule);
      return [...describeInstructions(rule.instructions ?? []), ...describeChances(rule.chances ?? [])].map(
        (line) => ({ side, rule: index, where, ...line }),
      );
    }),
  );
}

type Fault = ApiFault | DeliveryFault;
type Line = Pick<PlanLine, "what" | "often">;

/** Equal neighbours become one line. */
function describeInstructions(instructions: readonly Fault[]): Line[] {
  const runs: { what: string; count: number }[] = [];
  for (const fault of instructions) {
    const what = describeFault(fault);
    const last = runs.at(-1);
    if (last?.what === what) last.count++;
    else runs.push({ what, count: 1 });
  }
  return runs.map(({ what, count }, index) => ({
    what,
    often:
      index === 0 && count === 1 ? "the next time" : `${index === 0 ? "the next" : "then"} ${times(count)}`,
  }));
}

const times = (count: number) => (count === 1 ? "once" : `${count} times`);

const describeChances = (chances: readonly ProbabilisticFault<Fault>[]): Line[] =>
  chances.map(({ probability, fault }) => ({
    what: describeFault(fault),
    often: `${Number((probability * 100).toFixed(2))} % of the time`,
  }));

function describeMatch(rule: Readonly<Record<string, unknown>>): string {
  const parts = ["operation", "router", "keyId", "event", "endpointId"].flatMap((name) =>
    typeof rule[name] === "string" ? [rule[name]] : [],
  );
  return parts.join(", ");
}

export function describeFault(fault: Fault): string {
  switch (fault.kind) {
    case "status":
      return `HTTP ${fault.status}${fault.retryAfterSeconds === undefined ? "" : `, retry after ${fault.retryAfterSeconds} s`}`;
    case "rate-limited":
      return `429 of the service, retry after ${fault.retryAfterSeconds ?? 1} s`;
    case "graphql-error":
      return `GraphQL error “${fault.message}”`;
    case "delay":
      return `${formatDuration(fault.delayMs)} late`;
    case "duplicate":
      return `sent ${1 + (fault.copies ?? 1)} times`;
    case "pass":
      return "no fault";
    default: {
      const same = [...apiPresets, ...deliveryPresets].find((preset) => preset.fault.kind === fault.kind);
      return same?.label ?? fault.kind;
    }
  }
}
