import type { WorkspaceTasksError } from "../errors.ts";
import { inputError } from "./import-input.ts";
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

export const countsOf = ({ counts, repeated }: ImportState): ImportCounts => ({
  ...counts,
  failed: counts.failed + repeated.length,
});

export function createResult(state: ImportState): ImportResult {
  return {
    counts: countsOf(state),
    *clients() {
      for (const [externalId, client] of state.clients) yield describe(externalId, client);
      const error = inputError(
        "expected each externalId once, got it again; for a second work of a client use another externalId",
      );
      for (const externalId of state.repeated)
        yield { ...noWork, externalId, status: "failed", before: false, error };
    },
  };
}

const noWork = { jobId: undefined, jobWorkId: undefined, workId: undefined, workExternalId: undefined };

function describe(
  externalId: string,
  { status: known, before, error, job, work }: ClientState,
): ImportedClient {
  const status = known === "open" ? "failed" : known;
  const common = { externalId, status, before, error };
  if (job === undefined || status === "failed" || status === "exists") return { ...noWork, ...common };
  const sent = workExternalId(externalId, job);
  const derived = sent === externalId ? undefined : sent;
  return { ...common, jobId: job.id, jobWorkId: work?.[0], workId: work?.[1], workExternalId: derived };
}
