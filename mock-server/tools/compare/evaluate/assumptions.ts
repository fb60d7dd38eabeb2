import type { RuleResult, Verdict } from "./evaluate-rules.ts";

/** An entry of docs/assumptions.md. */
interface Assumption {
  readonly id: string;
  readonly subject: string;
  /** What no rule can see from outside, and what it takes. */
  readonly untested?: string | undefined;
}

export const assumptions: readonly Assumption[] = [
  { id: "A-1", subject: "source-platform header" },
  { id: "A-2", subject: "expiresInSeconds below 1" },
  { id: "A-3", subject: "a failed exchange" },
  { id: "A-4", subject: "rejections" },
  { id: "A-5", subject: "the rate window" },
  { id: "A-6", subject: "endpoint URLs" },
  { id: "A-7", subject: "unknown endpoint" },
  { id: "A-8", subject: "bad cursor" },
  { id: "A-9", subject: "rotation" },
  { id: "A-10", subject: "documents.synced" },
  { id: "A-11", subject: "retries of deliveries" },
  {
    id: "A-12",
    subject: "a paused endpoint",
    untested: "deliveries of a paused endpoint: pause one with a pending delivery, and watch its receiver",
  },
  {
    id: "A-13",
    subject: "testing a connection",
    untested: "a collect that succeeds or fails: no operation removes a connection",
  },
  {
    id: "A-14",
    subject: "conflicts of connections, jobs and works",
    untested: "conflicts of existing records: no operation removes a connection, job or work",
  },
  {
    id: "A-15",
    subject: "the import",
    untested: "an import that runs: no operation removes the clients and tasks that it creates",
  },
  { id: "A-16", subject: "listing tasks" },
  { id: "A-17", subject: "customerError" },
  { id: "A-18", subject: "stages of TAX_PREP" },
  { id: "A-19", subject: "the gateway's token" },
  { id: "A-20", subject: "counting gateway calls" },
  { id: "A-21", subject: "the two routers" },
  {
    id: "A-22",
    subject: "revoked keys",
    untested:
      "a live token of a key that is revoked meanwhile: revoke a key in the web app, and use its token by hand",
  },
  { id: "A-23", subject: "a userToken on a workspace's operation" },
  {
    id: "A-24",
    subject: "roles of added users",
    untested: "the role that an added user gets: no operation removes a user",
  },
  {
    id: "A-25",
    subject: "collecting a connection again",
    untested:
      "a collect of an existing connection: it is asked for new data, and no operation removes a connection",
  },
  { id: "A-26", subject: "artifacts", untested: "artifacts of a job: no operation removes a work" },
  { id: "A-27", subject: "lists of tasks and clients" },
  {
    id: "A-28",
    subject: "uploads",
    untested: "an upload that is created: the interface promises no operation that removes one",
  },
  {
    id: "A-29",
    subject: "an endpoint that changes",
    untested:
      "pending deliveries of an endpoint that moves or unsubscribes: change one, and watch its receiver",
  },
];

export interface AssumptionResult {
  readonly id: string;
  readonly subject: string;
  readonly verdict: Verdict;
  /** What was confirmed is a part of it; `note` names the rest. */
  readonly partly: boolean;
  readonly rules: readonly string[];
  /** For one that is not testable or confirmed in part only: what the rest takes. */
  readonly note: string;
}

/** Refuted when one of its rules is, confirmed when one is confirmed and none refuted. */
export function evaluateAssumptions(results: readonly RuleResult[]): readonly AssumptionResult[] {
  return assumptions.map(({ id, subject, untested }) => {
    const own = results.filter((result) => result.assumptions.includes(id));
    const has = (verdict: Verdict) => own.some((result) => result.verdict === verdict);
    const verdict = has("refuted") ? "refuted" : has("confirmed") ? "confirmed" : "not-testable";
    const reasons = own.flatMap((result) => (result.verdict === "not-testable" ? [result.received] : []));
    const notes = [...new Set([...reasons, ...(untested === undefined ? [] : [untested])])];
    const partly = verdict === "confirmed" && notes.length > 0;
    return { id, subject, verdict, partly, rules: own.map((result) => result.id), note: notes.join("; ") };
  });
}
