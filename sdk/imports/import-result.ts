import type { WorkspaceTasksError } from "../errors.ts";
import { repeatedClient } from "./import-input.ts";
import type { ImportCounts } from "./import-progress.ts";
import { type ClientState, type ClientStatus, type ImportState, workExternalId } from "./import-state.ts";

/** What became of a client. */
export interface ImportedClient {
  readonly externalId: string;
  /**
   * - `imported`: its job was started.
   * - `exists`: something else has used its external id in the connection.
   * - `failed`: it has no effect; the next call with the same journal tries it again.
   * - `undecided`: whether it was imported is not known; its error says what to do.
   */
  readonly status: Exclude<ClientStatus, "open">;
  /** An earlier process settled it. */
  readonly before: boolean;
  /** Of the job that has its work. */
  readonly jobId: string | undefined;
  readonly jobWorkId: string | undefined;
  /** In the attribute `workId` of its task. */
  readonly workId: string | undefined;
  /** The external id of the work, and of a client that it creates, where it is not the client's own. */
  readonly workExternalId: string | undefined;
  /** For every status but `imported`. */
  readonly error: WorkspaceTasksError | undefined;
}

export interface ImportResult {
  readonly counts: ImportCounts;
  /** Every client of the input and of the journal. */
  clients(): IterableIterator<ImportedClient>;
}

export function createResult(state: ImportState): ImportResult {
  return {
    counts: { ...state.counts, failed: state.counts.failed + state.repeated.length },
    *clients() {
      for (const [externalId, client] of state.clients) yield describe(externalId, client);
      for (const externalId of state.repeated)
        yield { ...none, externalId, status: "failed", before: false, error: repeatedClient() };
    },
  };
}

const none = { jobId: undefined, jobWorkId: undefined, workId: undefined, workExternalId: undefined };

function describe(externalId: string, { status, before, error, job, index }: ClientState): ImportedClient {
  const common = {
    ...none,
    externalId,
    status: status === "open" ? "failed" : status,
    before,
    error,
  } as const;
  if (job === undefined || (status !== "imported" && status !== "undecided")) return common;
  const sent = workExternalId(externalId, job);
  return {
    ...common,
    jobId: job.id,
    jobWorkId: job.jobWorkIds[index],
    workId: job.workIds[index],
    workExternalId: sent === externalId ? undefined : sent,
  };
}
