// What a failed call of an import means, and what to do with the works of a job that the service rejected. Nothing is sent
// twice but where the service rejects the repetition, or where its effect is never started.

import { type ErrorCode, WorkspaceTasksError } from "../errors.ts";
import type { JobWork } from "../operations/jobs.ts";
import type { WorkMode } from "./import-state.ts";

type Failed = Pick<WorkspaceTasksError, "code" | "outcome" | "message" | "httpStatus">;

/**
 * - `import`: it concerns every call, and ends the import.
 * - `repeat`: it had no effect, and may succeed later.
 * - `doubt`: it may have had an effect.
 * - `call`: the service rejected what this call says.
 */
export type FailureKind = "import" | "repeat" | "doubt" | "call";

const importCodes: ReadonlySet<ErrorCode> = new Set([
  "API_KEY_REJECTED",
  "API_KEY_UNAVAILABLE",
  "PERMISSION_DENIED",
  "CLIENT_CLOSED",
  "CONFIGURATION_INVALID",
  "ABORTED",
  "ON_PROGRESS_FAILED",
]);
const inputCodes: readonly ErrorCode[] = ["ARGUMENT_INVALID", "INPUT_INVALID", "DOCUMENT_INVALID"];
const callCodes: ReadonlySet<ErrorCode> = new Set([
  ...inputCodes,
  "NOT_FOUND",
  "CONFLICT",
  "HTTP_REQUEST_REJECTED",
  "GRAPHQL_ERROR",
]);

export function kindOfFailure({ code, outcome }: Failed): FailureKind {
  if (importCodes.has(code) || code.startsWith("JOURNAL_")) return "import";
  // Whatever bytes of a file have arrived, nothing refers to them.
  if (code.startsWith("UPLOAD_") && code !== "UPLOAD_FAILED") return "call";
  if (outcome === "unknown") return "doubt";
  // What failed is not this call: the exchange of the key, or the rate limit.
  if (outcome === "not_sent" && code !== "ARGUMENT_INVALID") return "repeat";
  return callCodes.has(code) ? "call" : "repeat";
}

/**
 * What to do with the works of a job that the service rejected. Parts: each is sent again in a job of its own.
 *
 * @param clients their external ids, as they were sent
 */
export function decideOnWorks(
  error: Failed,
  mode: WorkMode,
  clients: readonly string[],
): "end" | "fail" | "exists" | "look_up" | "derive" | readonly (readonly string[])[] {
  const isOne = clients.length === 1;
  if (error.code !== "CONFLICT") {
    if (!isAboutInput(error)) return "end";
    return isOne ? "fail" : halves(clients);
  }
  // They are unique: only the request whose response was lost can have used them.
  if (mode === "derived") return "derive";
  if (mode === "doubt") return "look_up";
  return isOne ? "exists" : around(error.message, clients);
}

function isAboutInput({ code, httpStatus }: Failed): boolean {
  if (code === "HTTP_REQUEST_REJECTED") return httpStatus === 413 || httpStatus === 400;
  return inputCodes.includes(code);
}

/**
 * The works were sent, with an unknown outcome, and now they conflict: either they took effect, or something else has used
 * an external id before. An import that was started has made clients of its works; this one was not.
 *
 * @param existing those that the workspace has as clients; `undefined` when these cannot be looked up
 * @returns clients whose works are in the job, which must not be started: they are sent again with `derived` external ids;
 *   those that are sent `again` as they are, each part in a job of its own; and those that are `undecided`
 */
export function decideOnEvidence(clients: readonly string[], existing: ReadonlySet<string> | undefined) {
  const used = clients.filter((client) => existing?.has(client) ?? true);
  const derive = clients.filter((client) => !used.includes(client));
  if (derive.length > 0) return { derive, again: used.length > 0 ? [used] : [], undecided: [] };
  return used.length > 1
    ? { derive, again: halves(used), undecided: [] }
    : { derive, again: [], undecided: used };
}

/** The ids of the works decide what artifacts are attached to: one that is missing makes the outcome unknown. */
export function checkWorks(works: readonly JobWork[], count: number): readonly JobWork[] {
  const given: readonly (Partial<JobWork> | null)[] = Array.isArray(works) ? works : [];
  const isId = (id: unknown) => typeof id === "string" && id !== "";
  if (given.length === count && given.every((work) => isId(work?.id) && isId(work?.workId))) return works;
  const message = `partner.jobs.addWorks: expected ${count} works with ids, got others`;
  throw new WorkspaceTasksError("RESPONSE_INVALID", message, { outcome: "unknown" });
}

/** The job that has the works was started by this import, or by a request of it whose response was lost. */
export function isStarted({ code, outcome }: Failed, wasInDoubt: boolean): boolean {
  return code === "CONFLICT" && (wasInDoubt || outcome === "unknown");
}

/** The client that the message quotes, and the others; halves, if it quotes none. */
function around(message: string, clients: readonly string[]): readonly (readonly string[])[] {
  const quoted = clients.find((client) => message.includes(`"${client}"`));
  if (quoted === undefined) return halves(clients);
  return [[quoted], clients.filter((client) => client !== quoted)];
}

export function halves<Item>(items: readonly Item[]): readonly (readonly Item[])[] {
  const middle = Math.ceil(items.length / 2);
  return [items.slice(0, middle), items.slice(middle)].filter((half) => half.length > 0);
}
