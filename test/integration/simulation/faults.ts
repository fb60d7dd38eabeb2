import type { ApiFault, DeliveryFault, FaultPlan } from "@workspace-tasks/mock-server";

interface ProbableFault<MockFault> {
  /** The highest probability that a seed gives the fault. */
  readonly max: number;
  readonly fault: MockFault;
}

/** Drawn for each API request; injected by the mock. */
const apiFaults = {
  apiStatus: { max: 0.15, fault: { kind: "status", status: 503, retryAfterSeconds: 2 } },
  apiGraphqlError: {
    max: 0.05,
    fault: { kind: "graphql-error", message: "Internal server error", code: "INTERNAL_SERVER_ERROR" },
  },
  apiResetBeforeEffect: { max: 0.1, fault: { kind: "reset-before-effect" } },
  apiResetAfterEffect: { max: 0.15, fault: { kind: "reset-after-effect" } },
  apiTruncate: { max: 0.08, fault: { kind: "truncate" } },
  apiHtml: { max: 0.08, fault: { kind: "html" } },
  apiStall: { max: 0.05, fault: { kind: "stall" } },
  apiDelay: { max: 0.15, fault: { kind: "delay", delayMs: 4_000 } },
  apiExpireToken: { max: 0.08, fault: { kind: "expire-token" } },
  apiBurnQuota: { max: 0.03, fault: { kind: "burn-quota", requests: 3 } },
} satisfies Record<string, ProbableFault<ApiFault>>;

/** Drawn for each attempt of a delivery; injected by the mock. */
const deliveryFaults = {
  deliveryDuplicate: { max: 0.3, fault: { kind: "duplicate", copies: 2 } },
  deliveryReorder: { max: 0.3, fault: { kind: "reorder" } },
  deliveryDelay: { max: 0.25, fault: { kind: "delay", delayMs: 20_000 } },
  deliveryDrop: { max: 0.2, fault: { kind: "drop" } },
  deliveryWrongSignature: { max: 0.05, fault: { kind: "wrong-signature" } },
  deliveryStaleTimestamp: { max: 0.05, fault: { kind: "stale-timestamp" } },
  deliveryOldSecretOnly: { max: 0.1, fault: { kind: "old-secret-only" } },
  deliveryAlteredBody: { max: 0.05, fault: { kind: "altered-body" } },
  deliveryRedirect: { max: 0.05, fault: { kind: "redirect" } },
} satisfies Record<string, ProbableFault<DeliveryFault>>;

/** Injected by the simulation itself. */
const otherFaults = {
  // Drawn for each delivery on the network.
  corruptedBody: 0.15,
  lostResponse: 0.15,
  // Drawn for each call of the inbox.
  inboxDown: 0.05,
  inboxOutcomeUnknown: 0.05,
  inboxSlow: 0.1,
  // Drawn each time a receiver process passes a crash point.
  crash: 0.03,
  pause: 0.03,
  // Drawn for each event in the handlers.
  handlerFails: 0.2,
  handlerGivesUp: 0.05,
  handlerSlow: 0.3,
} as const;

/** Drawn for each step, from streams of their own, so that the other draws of a seed stay as they were. */
const stepFaults = {
  // All calls of the store in flight lose their outcome, and none connects for some seconds.
  storeFailover: 0.06,
  // The wall clock of a receiver or SDK process is set; its monotonic clock is not.
  receiverClockSet: 0.08,
  sdkClockSet: 0.08,
  // Everything is removed that retention may remove at this moment.
  retention: 0.08,
  // An event with details of other types than documented.
  oddDetails: 0.1,
} as const;

type StepFault = keyof typeof stepFaults;

export const maxStepProbabilities = Object.entries(stepFaults) as readonly (readonly [StepFault, number])[];

export type Fault =
  | StepFault
  | keyof typeof apiFaults
  | keyof typeof deliveryFaults
  | keyof typeof otherFaults
  // Drawn for each call of the function that returns the signing secrets.
  | "secretsUnavailable"
  // Drawn for each call of the inbox: its connection dies without a word.
  | "inboxSilent"
  // Drawn for each task that the tasks API returns to a receiver.
  | "wrongTime";

const maxOf = <Name extends string>(faults: Readonly<Record<Name, { readonly max: number }>>) =>
  Object.entries<{ readonly max: number }>(faults).map(([name, { max }]) => [name, max] as [Name, number]);

/** Every fault with its highest probability. */
export const maxProbabilities: readonly (readonly [Fault, number])[] = [
  ...maxOf(apiFaults),
  ...maxOf(deliveryFaults),
  ...(Object.entries(otherFaults) as [Fault, number][]),
];

/** Not drawn one by one, but a part of what some seeds do. */
const scenarioFaults = ["otherClient", "otherTenant", "storeClockSet", "skewedEvent", "forgery"] as const;

type FaultKind = Fault | (typeof scenarioFaults)[number];

/** Every kind of fault. Seeds that never inject one of them prove nothing about it, so their test fails. */
const faultKinds: readonly FaultKind[] = [
  ...maxProbabilities.map(([fault]) => fault),
  ...maxStepProbabilities.map(([fault]) => fault),
  ...(["secretsUnavailable", "inboxSilent", "wrongTime"] as const),
  ...scenarioFaults,
];

/** The name of a fault that the mock injected. */
export function mockFaultName(side: "api" | "delivery", kind: string): Fault | undefined {
  const faults: Readonly<Record<string, ProbableFault<{ readonly kind: string }>>> =
    side === "api" ? apiFaults : deliveryFaults;
  return Object.entries(faults).find(([, { fault }]) => fault.kind === kind)?.[0] as Fault | undefined;
}

/** The faults that the mock injects. */
export function faultPlanOf(probabilities: Readonly<Record<Fault, number>>): FaultPlan {
  const chances = <MockFault>(faults: Readonly<Record<string, ProbableFault<MockFault>>>) =>
    Object.entries(faults)
      .map(([name, { fault }]) => ({ probability: probabilities[name as Fault], fault }))
      .filter(({ probability }) => probability > 0);
  return {
    api: [{ chances: chances<ApiFault>(apiFaults) }],
    deliveries: [{ chances: chances<DeliveryFault>(deliveryFaults) }],
  };
}

// Where a receiver process may crash or pause. A crash loses what was in memory and keeps what was committed.
//
//   C0   the request is being read                      no row, no response: the sender retries
//   C1   verified, not stored                           as C0
//   C2   the insert is being committed                  not acknowledged; the retry is new or a duplicate
//   C3   stored, no response sent                       the retry is a duplicate
//   C4   response sent, not claimed                     claimed after the restart
//   C5   claimed, handlers not started or running       claimed again when the lease expires
//   C6   the settlement is being committed              the transactional effect takes place once in both cases
//   C7   an external effect is done, nothing settled    handled again with the same idempotency key
//   C8   no crash: a pause longer than the lease        the late settlement is fenced off
//   C9   in maintenance: marks or purge                 repeated
//   C10  no crash: two processes store one delivery     one insert is new, the other a duplicate

const crashPoints = ["C0", "C1", "C2", "C3", "C4", "C5", "C6", "C7", "C8", "C9", "C10"] as const;
export type CrashPoint = (typeof crashPoints)[number];

/** What a run can meet: a kind of fault, or a crash point by a crash, or by its condition where nothing crashes. */
export type Meetable = FaultKind | CrashPoint;
export const meetable: readonly Meetable[] = [...faultKinds, ...crashPoints];

/** How often. */
export type Meetings = Partial<Record<Meetable, number>>;
