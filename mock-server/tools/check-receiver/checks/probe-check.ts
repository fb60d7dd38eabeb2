// Most checks send a valid delivery that was changed in one respect, and judge the response alone: each is an entry of
// a table with the change and the verdict. `each` and the functions of the subjects write the changes of such a table.

import { groupBy } from "@workspace-tasks/kernel/group-by.ts";
import type { ProbeResult } from "../target/connection.ts";
import { type Delivery, type Target, UnreachableError } from "../target/target.ts";

/** MUST follows from the interface or from forgery being possible; SHOULD is robustness. */
export type AuditRequirement = "MUST" | "SHOULD";

/** `inconclusive`: passed, but a receiver that verifies nothing passes as well. */
export type AuditOutcome = "passed" | "failed" | "skipped" | "inconclusive" | "unfinished";

/** The result of one check. `received` is one line, without any secret or payload. */
export interface Finding {
  readonly outcome: AuditOutcome;
  readonly received: string;
  /** The responses were correct, but the effects could not be observed. */
  readonly responsesOnly?: boolean;
  /** Skipped, because it would fail for the root cause of the run. */
  readonly follows?: boolean;
  /** Failed, and every wrong response was an acknowledgement. */
  readonly acknowledged?: boolean;
  /** The receiver could no longer be reached at the end of the check. */
  readonly unreachable?: boolean;
}

/** One attack with its expected outcome. */
export interface CheckDefinition {
  readonly requirement: AuditRequirement;
  /** What a correct receiver does, as a sentence. */
  readonly title: string;
  readonly sent: string;
  readonly expected: string;
  readonly fix: string;
  /** `alone`: no other check runs at the same time. `last`: after all others, reviewing their responses too. */
  readonly stage?: "alone" | "last";
  /** The option without which the check is skipped. */
  readonly needs?: "oldSecret";
  /**
   * For a receiver that acknowledges forged deliveries: `skipped` when the check then fails for that reason alone,
   * `inconclusive` when it passes because everything is acknowledged.
   */
  readonly unverified?: "skipped" | "inconclusive" | undefined;
  readonly run: (target: Target) => Promise<Finding>;
}

export interface AuditCheck extends CheckDefinition {
  /** `<subject>.<name>` */
  readonly id: string;
}

/** A check without what runs it, as reports and lists have it. */
export const describedCheck = ({ id, requirement, title, sent, expected, fix }: AuditCheck) => {
  return { id, requirement, title, sent, expected, fix };
};

/** The texts of a check, for functions that supply the rest of it. */
export type CheckTexts = Pick<CheckDefinition, "title" | "sent" | "fix"> & Partial<CheckDefinition>;

/**
 * Checks by id. An id is permanent: reports and `--only` lists of users refer to it. A check that tests something
 * else gets a new id.
 */
export type CheckTable = Readonly<Record<string, CheckDefinition>>;

export const passed = (received: string): Finding => ({ outcome: "passed", received });
export const failed = (received: string): Finding => ({ outcome: "failed", received });
export const passedIf = (condition: boolean, received: string) => (condition ? passed : failed)(received);

/** What differs from a valid, signed delivery: any of its fields, or how it is sent. */
export type Change = (delivery: Delivery, target: Target) => Partial<Delivery> | Promise<Partial<Delivery>>;

/** Changes by the labels that distinguish their results, in the order they are sent. */
export type Changes = Readonly<Record<string, Change>>;

export type ProbeCheck = CheckTexts & { readonly change: Change | Changes };

/** Makes a check that passes when the response to every changed delivery is correct. */
export const probeCheck =
  (
    requirement: AuditRequirement,
    expected: string,
    isCorrect: (result: ProbeResult) => boolean,
    unverified: CheckDefinition["unverified"] = "inconclusive",
  ) =>
  ({ change, ...check }: ProbeCheck): CheckDefinition => ({
    requirement,
    expected,
    unverified,
    ...check,
    run: (target) => evaluate(target, typeof change === "function" ? { "": change } : change, isCorrect),
  });

export const isAcknowledged = (result: ProbeResult): boolean =>
  result.kind === "response" && result.status >= 200 && result.status < 300;

export const isRejected = (result: ProbeResult): boolean =>
  result.kind === "closed" || (result.kind === "response" && !isAcknowledged(result));

export const isHandled = (result: ProbeResult): boolean =>
  isAcknowledged(result) || (result.kind === "response" && result.status >= 400 && result.status < 500);

/** Every delivery must be acknowledged with a 2xx. */
export const mustAcknowledge = probeCheck("MUST", "2xx", isAcknowledged);
export const shouldAcknowledge = probeCheck("SHOULD", "2xx", isAcknowledged);

/** No delivery may be accepted: any response but 2xx, or a closed connection, in time. */
export const mustReject = probeCheck("MUST", "a 4xx response", isRejected, "skipped");
export const shouldReject = probeCheck("SHOULD", "a 4xx response", isRejected, "skipped");

/** Both 2xx (quarantined) and 4xx (rejected) are correct, but neither a server error nor a timeout. */
export const shouldHandle = probeCheck("SHOULD", "2xx or 4xx, in time", isHandled);

/** A change for each value. */
export const each = <Value>(
  values: readonly Value[],
  change: (value: Value) => Change,
  labelOf: (value: Value) => string = String,
): Changes => Object.fromEntries(values.map((value) => [labelOf(value), change(value)]));

export const unchanged: Change = () => ({});

/** Edits the text of the body before it is signed. */
export const edited =
  (edit: (text: string) => string | Buffer): Change =>
  ({ body }, { compose }) =>
    compose({ body: edit(body.toString()) });

/** Leaves a header out, or sends it empty; both are signed over nothing in its place. */
export function missingHeader(name: "id" | "timestamp"): Changes {
  const empty = (delivery: Delivery, { sign }: Target) => ({
    [name]: "",
    signature: sign({ ...delivery, [name]: "" }),
  });
  return { absent: (delivery, target) => ({ ...empty(delivery, target), without: [name] }), empty };
}

/** Replaces the signature by a list with wrong signatures (`x`) and correct ones (`o`). */
export function listed(pattern: string): Change {
  return (delivery, { signForged }) => {
    const forged = (index: number) => signForged({ ...delivery, body: Buffer.from(String(index)) });
    const tokens = [...pattern].map((kind, index) => (kind === "o" ? delivery.signature : forged(index)));
    return { signature: tokens.join(" ") };
  };
}

export interface LabelledResult {
  readonly label: string;
  readonly result: ProbeResult;
}

/** Sends in order, up to the first timeout: every further delivery could take the whole time limit as well. */
export async function sendChanged(
  target: Target,
  changes: Changes,
  results: LabelledResult[] = [],
): Promise<readonly LabelledResult[]> {
  for (const [label, change] of Object.entries(changes)) {
    const delivery = target.compose();
    const result = await target.send({ ...delivery, ...(await change(delivery, target)) });
    results.push({ label, result });
    if (result.kind === "timeout") break;
  }
  return results;
}

async function evaluate(
  target: Target,
  changes: Changes,
  isCorrect: (result: ProbeResult) => boolean,
): Promise<Finding> {
  const results: LabelledResult[] = [];
  const wrong = () => results.filter(({ result }) => !isCorrect(result));
  const failure = (...more: string[]) => failed([...wrong().map(describeLabelled), ...more].join("; "));
  try {
    await sendChanged(target, changes, results);
  } catch (error) {
    // What the receiver did before it became unreachable still counts.
    if (!(error instanceof UnreachableError) || wrong().length === 0) throw error;
    return { ...failure(`then ${error.message}`), unreachable: true };
  }
  if (wrong().length > 0) {
    return { ...failure(), acknowledged: wrong().every(({ result }) => isAcknowledged(result)) };
  }
  return passed(summaryOf(results.map(({ result }) => result)));
}

export const describeLabelled = ({ label, result }: LabelledResult): string =>
  (label && `${label}: `) + describeResult(result);

/** `200`, `connection closed without a response`, … */
export function describeResult(result: ProbeResult): string {
  if (result.kind === "response") return String(result.status);
  if (result.kind === "closed") return "connection closed without a response";
  if (result.kind === "not-http") return "bytes that are not HTTP";
  return `no response within ${Math.round(result.durationMs)} ms`;
}

/** Distinct results with their counts: `200` or `200 ×49, 500 ×1`. */
export function summaryOf(results: readonly ProbeResult[]): string {
  const groups = groupBy(results, describeResult);
  if (groups.size === 1) return [...groups.keys()].join("");
  return [...groups].map(([text, { length }]) => `${text} ×${length}`).join(", ");
}
