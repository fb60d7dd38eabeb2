import type { SettingsChanges } from "@workspace-tasks/mock-server";
import { withSettings } from "@workspace-tasks/mock-server/parts";
import { type Removal, removeLeft } from "./ask/created.ts";
import { Service, type ServiceOptions } from "./ask/service.ts";
import { evaluate, evaluateAssumptions, isDifference, proposedSettings } from "./evaluate.ts";
import { askRules, type Finding } from "./findings.ts";
import { findingsOfMock } from "./mock-side.ts";
import { preflight } from "./preflight.ts";
import { type CompareReport, emptyReport } from "./report.ts";

export interface CompareOptions extends Omit<ServiceOptions, "rateLimit"> {
  /** Settings of the mock that the service is compared with. The run takes a third of their rate limit. */
  readonly settings?: SettingsChanges | undefined;
  readonly onFinding?: ((finding: Finding, done: number) => void) | undefined;
  /** Learns of the run before its first request: what it has created is known from it at any time. */
  readonly onStart?: ((service: Service) => void) | undefined;
}

/** Asks a service every rule that it permits. */
export async function compareService(options: CompareOptions): Promise<CompareReport> {
  const { settings, signal, onFinding } = options;
  const service = new Service({ ...options, rateLimit: withSettings(settings).rateLimit });
  const { stats } = service.sender;
  options.onStart?.(service);
  const problem = await preflight(service);
  if (problem) return { ...emptyReport, problem, stats };
  let removal: Removal | null = null;
  try {
    const asked = await askRules(service, signal, onFinding);
    if (options.writes) removal = await removeLeft(service);
    return { ...(await compareFindings(asked.findings, settings)), stats, stopped: asked.stopped, removal };
  } finally {
    if (options.writes && !removal) await removeLeft(service);
  }
}

/** Compares what was found with the table, or with a mock of these settings. */
export async function compareFindings(
  findings: readonly Finding[],
  base: SettingsChanges = {},
): Promise<CompareReport> {
  const evaluateWith = async (settings: SettingsChanges) =>
    evaluate(findings, settings, await findingsOfMock(settings));
  const rules = Object.keys(base).length === 0 ? evaluate(findings) : await evaluateWith(base);
  const settings = proposedSettings(rules, base);
  // What settings express is not claimed but tried: a mock that has them is compared with.
  const remaining = rules.some((rule) => rule.settings) ? await evaluateWith(settings) : rules;
  const notExpressed = remaining.filter(isDifference).map(({ id }) => id);
  return { ...emptyReport, rules, assumptions: evaluateAssumptions(rules), settings, notExpressed };
}
