import type { RuleResult, Verdict } from "./evaluate-rules.ts";

/** The entries of docs/assumptions.md. */
const subjects: Readonly<Record<string, string>> = {
  "A-1": "source-platform header",
  "A-2": "expiresInSeconds below 1",
  "A-3": "a failed exchange",
  "A-4": "rejections",
  "A-5": "the rate window",
  "A-6": "endpoint URLs",
  "A-7": "unknown endpoint",
  "A-8": "cursors",
  "A-9": "rotation",
  "A-10": "documents.synced",
  "A-11": "retries and order of deliveries",
  "A-12": "a paused endpoint",
  "A-13": "testing a connection",
  "A-14": "conflicts of connections, jobs and works",
  "A-15": "the import",
  "A-16": "listing tasks",
  "A-17": "customerError",
  "A-18": "stages of TAX_PREP",
  "A-19": "the gateway's token",
  "A-20": "counting gateway calls",
  "A-21": "the two routers",
  "A-22": "revoked keys",
  "A-23": "a userToken on a workspace's operation",
  "A-24": "roles of added users",
  "A-25": "collecting a connection again",
  "A-26": "artifacts",
  "A-27": "lists of tasks and clients",
  "A-28": "uploads",
  "A-29": "an endpoint that changes",
  "A-30": "codes and free messages",
  "A-31": "the catalog",
  "A-32": "times",
  "A-33": "ids",
  "A-34": "beyond the interface",
  "A-35": "HTTP",
  "A-36": "tokens",
};

/** What no rule can see from outside, and what it takes. */
const untested: Readonly<Record<string, string>> = {
  "A-12": "deliveries of a paused endpoint: pause one with a pending delivery, and watch its receiver",
  "A-13": "a collect that succeeds or fails: no operation removes a connection",
  "A-14": "conflicts of existing records: no operation removes a connection, job or work",
  "A-15": "an import that runs: no operation removes the clients and tasks that it creates",
  "A-22":
    "a live token of a key that is revoked meanwhile: revoke a key in the web app, and use its token by hand",
  "A-24": "the role that an added user gets: no operation removes a user",
  "A-25":
    "a collect of an existing connection: it is asked for new data, and no operation removes a connection",
  "A-26": "artifacts of a job: no operation removes a work",
  "A-28": "an upload that is created: the interface promises no operation that removes one",
  "A-29": "pending deliveries of an endpoint that moves or unsubscribes: change one, and watch its receiver",
};

export interface AssumptionResult {
  readonly id: string;
  readonly subject: string;
  readonly verdict: Exclude<Verdict, "refuted">;
  /** What was confirmed is a part of it; `note` names the rest. */
  readonly partly: boolean;
  readonly rules: readonly string[];
  /** For one that is not testable or confirmed in part only: what the rest takes. */
  readonly note: string;
}

/** Differs when one of its rules does, confirmed when one is confirmed and none differs. */
export function evaluateAssumptions(results: readonly RuleResult[]): readonly AssumptionResult[] {
  return Object.entries(subjects).map(([id, subject]) => {
    const own = results.filter((result) => result.assumptions.includes(id));
    const has = (verdict: Verdict) => own.some((result) => result.verdict === verdict);
    const verdict = has("differs") ? "differs" : has("confirmed") ? "confirmed" : "not-testable";
    const reasons = own.flatMap((result) => {
      if (result.verdict === "refuted") return [`${result.id} is refuted`];
      return result.verdict === "not-testable" ? [result.received] : [];
    });
    const notes = [...new Set([...reasons, ...(untested[id] === undefined ? [] : [untested[id]])])];
    const partly = verdict === "confirmed" && notes.length > 0;
    return { id, subject, verdict, partly, rules: own.map((result) => result.id), note: notes.join("; ") };
  });
}
