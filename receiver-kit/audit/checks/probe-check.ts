import type { ConnectionResult, ProbeResult } from "../target/connection.ts";
import { UnreachableError } from "../target/errors.ts";
import type { Delivery } from "../target/signing.ts";
import type { SendOptions, Target } from "../target/target.ts";
import { type CheckDefinition, type Finding, failed, passed, type Requirement } from "./check.ts";

/** One delivery as it is sent. `label` distinguishes the probes of one check. */
export interface Probe {
  readonly label?: string;
  readonly delivery: Delivery;
  readonly options?: SendOptions;
}

export interface LabelledResult {
  readonly label: string;
  readonly result: ProbeResult;
}

/** What a check sends: one delivery, one probe, or several probes in order. */
type Probes = Delivery | Probe | readonly Probe[];

export type ProbeCheck = Omit<CheckDefinition, "run" | "expected" | "requirement"> & {
  readonly expected?: string;
  readonly probes: (target: Target) => Probes | Promise<Probes>;
};

/** Makes a check of probes whose results must all be correct. */
export const probeCheck =
  (requirement: Requirement, expected: string, isCorrect: (result: ProbeResult) => boolean) =>
  ({ probes, ...check }: ProbeCheck): CheckDefinition => ({
    requirement,
    expected,
    ...check,
    run: async (target) => evaluate(target, listOf(await probes(target)), isCorrect),
  });

/** A delivery without a header, and one where it is empty; both are signed over nothing in its place. */
export function withoutHeader(target: Target, name: "id" | "timestamp"): readonly Probe[] {
  const composed = target.compose();
  const delivery = { ...composed, [name]: "", signature: target.sign({ ...composed, [name]: "" }) };
  const headers = target.signing.headers(delivery).filter(([, value]) => value !== "");
  return [
    { label: "absent", delivery, options: { headers } },
    { label: "empty", delivery },
  ];
}

/** A delivery whose signature list has wrong tokens (`x`) and correct ones (`o`). */
export function listed(target: Target, pattern: string): Delivery {
  const delivery = target.compose();
  const tokens = [...pattern].map((kind, index) =>
    kind === "o" ? delivery.signature : target.signForged({ ...delivery, body: Buffer.from(`${index}`) }),
  );
  return { ...delivery, signature: tokens.join(" ") };
}

export const isAcknowledged = (result: ProbeResult): boolean =>
  result.kind === "response" && result.status >= 200 && result.status < 300;

export const isRejected = (result: ProbeResult): boolean =>
  result.kind === "closed" || (result.kind === "response" && !isAcknowledged(result));

export const isHandled = (result: ProbeResult): boolean =>
  isAcknowledged(result) || (result.kind === "response" && result.status >= 400 && result.status < 500);

/** Every probe must be acknowledged with a 2xx. */
export const mustAcknowledge = probeCheck("MUST", "2xx", isAcknowledged);
export const shouldAcknowledge = probeCheck("SHOULD", "2xx", isAcknowledged);

/** No probe may be accepted: any response but 2xx, or a closed connection, in time. */
export const mustReject = probeCheck("MUST", "a 4xx response", isRejected);
export const shouldReject = probeCheck("SHOULD", "a 4xx response", isRejected);

/** Both 2xx (quarantined) and 4xx (rejected) are correct, but neither a server error nor a timeout. */
export const shouldHandle = probeCheck("SHOULD", "2xx or 4xx, in time", isHandled);

/** Probes with the keys of `values` as their labels. */
export function labelled<Value>(
  values: Readonly<Record<string, Value>>,
  probe: (value: Value) => Delivery | Probe,
): readonly Probe[] {
  return Object.entries(values).flatMap(([label, value]) =>
    listOf(probe(value)).map((each) => ({ label, ...each })),
  );
}

function listOf(probes: Probes): readonly Probe[] {
  if ("delivery" in probes) return [probes];
  return "signature" in probes ? [{ delivery: probes }] : probes;
}

/** Sends probes in order, up to the first timeout: every further probe could take the whole time limit as well. */
export async function* sendProbes(target: Target, probes: readonly Probe[]): AsyncGenerator<LabelledResult> {
  for (const { label = "", delivery, options } of probes) {
    const result = await target.send(delivery, options);
    yield { label, result };
    if (result.kind === "timeout") return;
  }
}

async function evaluate(
  target: Target,
  probes: readonly Probe[],
  isCorrect: (result: ProbeResult) => boolean,
): Promise<Finding> {
  const results: ProbeResult[] = [];
  const wrong: string[] = [];
  try {
    for await (const { label, result } of sendProbes(target, probes)) {
      results.push(result);
      if (!isCorrect(result)) wrong.push((label ? `${label}: ` : "") + describeResult(result));
    }
  } catch (error) {
    // What the receiver did before it became unreachable still counts.
    if (!(error instanceof UnreachableError) || wrong.length === 0) throw error;
    return { ...failed([...wrong, `then ${error.message}`].join("; ")), unreachable: true };
  }
  return wrong.length === 0 ? passed(summaryOf(results)) : failed(wrong.join("; "));
}

/** `200`, `connection closed without a response`, …, without any part of the body. */
export function describeResult(result: ConnectionResult): string {
  switch (result.kind) {
    case "response":
      return String(result.status);
    case "closed":
      return "connection closed without a response";
    case "timeout":
      return `no response within ${Math.round(result.durationMs)} ms`;
    case "unreachable":
      return `could not connect (${result.code})`;
    case "not-http":
      return "bytes that are not HTTP";
  }
}

/** Distinct results with their counts: `200` or `200 ×49, 500 ×1`. */
export function summaryOf(results: readonly ProbeResult[]): string {
  const counts = new Map<string, number>();
  for (const text of results.map(describeResult)) counts.set(text, (counts.get(text) ?? 0) + 1);
  if (counts.size === 1) return [...counts.keys()].join("");
  return [...counts].map(([text, count]) => `${text} ×${count}`).join(", ");
}
