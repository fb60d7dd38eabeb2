import type { ApiFault, DeliveryFault, FaultPlan } from "@workspace-tasks/mock-server/control";
import { formatDuration } from "@workspace-tasks/page-parts/text.ts";

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

type Fault = ApiFault | DeliveryFault;
type Rule = NonNullable<FaultPlan["api"] | FaultPlan["deliveries"]>[number];

/** Faults of a rule and how often each is injected; empty when its instructions are used up. */
export function describeRule({ instructions = [], chances = [] }: Rule): string {
  const runs: { what: string; count: number }[] = [];
  for (const what of instructions.map(describeFault)) {
    const last = runs.at(-1);
    if (last?.what === what) last.count++;
    else runs.push({ what, count: 1 });
  }
  const next = runs.map(({ what, count }) => `${what}, the next ${times(count)}`);
  const often = chances.map(
    ({ probability, fault }) =>
      `${describeFault(fault)}, ${Number((probability * 100).toFixed(2))} % of the time`,
  );
  return [next.join(", then "), ...often].filter((text) => text !== "").join(", ");
}

const times = (count: number) => (count === 1 ? "time" : `${count} times`);

/** The calls or deliveries that a rule is limited to. */
export const describeMatch = (rule: Rule): string =>
  Object.values(rule)
    .filter((value) => typeof value === "string")
    .join(", ");

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
