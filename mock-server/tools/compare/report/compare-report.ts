import type { SettingsChanges } from "@workspace-tasks/mock-server";
import type { AssumptionResult } from "../evaluate/assumptions.ts";
import type { RuleResult } from "../evaluate/evaluate-rules.ts";
import type { Problem } from "../run/preflight.ts";
import type { Removal } from "../run/remove-created.ts";
import type { SenderStats } from "../run/send-request.ts";

export interface CompareReport {
  /** Why nothing could be compared. */
  readonly problem: Problem | null;
  readonly rules: readonly RuleResult[];
  readonly assumptions: readonly AssumptionResult[];
  readonly notes: readonly string[];
  /** Settings with which the mock does what the service did, as far as settings can express it. */
  readonly settings: SettingsChanges;
  /** Rules that a mock with these settings still refutes. */
  readonly notExpressed: readonly string[];
  /** What was done about the objects of the run; `null` for a run that creates none. */
  readonly removal: Removal | null;
  readonly stats: Readonly<SenderStats>;
  /** Why the run ended before its last probe; `null` when it did not. */
  readonly stopped: string | null;
}

export const emptyReport: CompareReport = {
  problem: null,
  rules: [],
  assumptions: [],
  notes: [],
  settings: {},
  notExpressed: [],
  removal: null,
  stats: { requests: 0, rateLimited: 0, lost: 0 },
  stopped: null,
};
