// What rules have found, a line of JSON each: a record holds a line from the moment it is known, so that an interrupted run
// leaves a usable one.

import { systemClock } from "@workspace-tasks/kernel/clock.ts";
import { jsonOrUndefined } from "@workspace-tasks/kernel/json.ts";
import { isPlainObject } from "@workspace-tasks/kernel/plain-object.ts";
import * as z from "zod";
import { removeKnown, sendError } from "./ask/created.ts";
import type { Captured } from "./ask/deliveries.ts";
import type { Fact, Rule } from "./ask/rule.ts";
import { SendError, Untestable } from "./ask/send.ts";
import { Service } from "./ask/service.ts";
import { rules } from "./rules/table.ts";

/** The fact of a rule, or why there is none. */
export interface Finding {
  readonly rule: string;
  readonly sent: readonly string[];
  readonly fact?: Fact | undefined;
  readonly unknown?: string | undefined;
}

export interface Asked {
  readonly findings: readonly Finding[];
  /** Why not every rule was asked; `null` when all were. */
  readonly stopped: string | null;
}

/** A service that is down is not asked every rule. */
const failedInARowMax = 5;

/** Asks one rule after the other, and removes what each has created. */
export async function askRules(
  service: Service,
  signal?: AbortSignal,
  onFinding?: (finding: Finding, done: number) => void,
  asked: readonly Rule[] = rules,
): Promise<Asked> {
  const findings: Finding[] = [];
  const failures = new Set<SendError>();
  let failedInARow = 0;
  for (const rule of asked) {
    if (signal?.aborted) return { findings, stopped: "stopped" };
    service.sent = [];
    const result = await ask(rule, service);
    const sent = service.sent.slice(0, sentMax);
    // What a rule has created is removed at the end of the run when the service is away now.
    await removeKnown(service).catch(sendError);
    const failure = result instanceof SendError ? result : null;
    if (failure?.kind === "stopped") return { findings, stopped: "stopped" };
    if (failure?.kind === "limited") return { findings, stopped: failure.message };
    const finding = {
      rule: rule.id,
      sent,
      ...(result instanceof SendError ? { unknown: result.message } : result),
    };
    findings.push(finding);
    onFinding?.(finding, findings.length);
    // A request that several rules read has failed once.
    if (!failure || failure.kind === "no-token") failedInARow = 0;
    else if (!failures.has(failure)) failedInARow += 1;
    if (failure) failures.add(failure);
    if (failedInARow === failedInARowMax)
      return { findings, stopped: `${failedInARowMax} rules in a row had no response: ${failure?.message}` };
  }
  return { findings, stopped: null };
}

const sentMax = 8;

async function ask(rule: Rule, service: Service): Promise<{ fact: Fact } | { unknown: string } | SendError> {
  if (rule.needs === "writes" && !service.writes) return { unknown: "needs --writes" };
  try {
    return { fact: plain(await rule.ask(service), service) };
  } catch (error) {
    if (error instanceof Untestable) return { unknown: service.plain(error.message) };
    return sendError(error);
  }
}

/** A fact that repeats no key: a service may show one where a word of its own belongs. */
function plain(fact: Fact, service: Service): Fact {
  if (typeof fact === "string") return service.plain(fact);
  if (Array.isArray(fact)) return fact.map((each: Fact) => plain(each, service));
  if (!isPlainObject(fact)) return fact;
  return Object.fromEntries(
    Object.entries(fact).map(([name, inner]) => [service.plain(name), plain(inner as Fact, service)]),
  );
}

/** What captured deliveries show without a service. */
export async function findingsInFile(captured: Captured): Promise<readonly Finding[]> {
  const service = new Service({
    access: { baseUrl: "", gatewayUrl: null, keys: {} },
    fetch: () => Promise.reject(new Error("there is no service")),
    clock: systemClock,
    writes: false,
    rateLimit: { requests: 1, windowMs: 1 },
    runId: "",
    captured,
    signal: new AbortController().signal,
  });
  const ofDeliveries = rules.filter(({ needs }) => needs === "deliveries");
  return (await askRules(service, undefined, undefined, ofDeliveries)).findings;
}

const recordTool = "workspace-tasks compare";

const formatVersion = 2;
const headerSchema = z.object({ tool: z.literal(recordTool), formatVersion: z.literal(formatVersion) });

// A record may come from elsewhere: its texts are printed, and must not control a terminal.
const text = z
  .string()
  .max(2_000)
  .regex(/^\P{Cc}*$/u);
const factSchema: z.ZodType<Fact> = z.lazy(() =>
  z.union([z.null(), z.boolean(), z.number(), text, z.array(factSchema), z.record(text, factSchema)]),
);
const findingSchema = z.object({
  rule: text,
  sent: z.array(text),
  fact: factSchema.optional(),
  unknown: text.optional(),
});

export const recordHeader = `${JSON.stringify({ tool: recordTool, formatVersion })}\n`;

export const recordLine = (finding: Finding): string => `${JSON.stringify(finding)}\n`;

/**
 * Reads a record. A last line that was cut off by the end of its process is left out.
 * @throws Error that says which line is wrong
 */
export function parseRecord(record: string): readonly Finding[] {
  const [first = "", ...rest] = record.split("\n");
  if (!headerSchema.safeParse(jsonOrUndefined(first)).success)
    throw new Error(
      `line 1 is not the header of a record of ${recordTool} with formatVersion ${formatVersion}`,
    );
  // The last line ends with a line break, or was cut off.
  return rest.slice(0, -1).map((line, index) => {
    const { data } = findingSchema.safeParse(jsonOrUndefined(line));
    if (!data) throw new Error(`line ${index + 2} is not a finding`);
    return data;
  });
}
