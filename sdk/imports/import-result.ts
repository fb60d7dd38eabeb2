import type { Redactor } from "../call/redactor.ts";
import type { WorkspaceTasksError } from "../errors.ts";
import { type ImportCounts, inputError } from "./import-input.ts";
import { type ClientState, type ClientStatus, type ImportState, workExternalId } from "./import-state.ts";

/** What became of a client of the input. */
export interface ImportedClient {
  readonly externalId: string;
  /**
   * - `imported`: a job with its work was started by this call.
   * - `unchanged`: it was imported before, with these documents. Nothing was sent.
   * - `changed`: it was imported before, and has new or changed documents, which were not sent; `error` names them.
   * - `exists`: another program has imported it. Nothing was sent.
   * - `failed`: nothing of it has an effect; `error` says why. The next call tries it again.
   * - `undecided`: whether it was imported, or with these documents, is not known; `error` says why, or what to do.
   */
  readonly status: ClientStatus;
  /** The job that has its work. */
  readonly jobId: string | undefined;
  readonly jobWorkId: string | undefined;
  /** In the attribute `workId` of its task. */
  readonly workId: string | undefined;
  /** The external id of the work, and of a client that it creates, where it is not the client's own. */
  readonly workExternalId: string | undefined;
  /** For `changed`, `failed` and `undecided`. Its message names the client. */
  readonly error: WorkspaceTasksError | undefined;
}

export interface ImportResult {
  readonly counts: ImportCounts;
  /** Every client of the input, and those of a job that the journal has begun and the input does not have: these are `failed`. */
  clients(): IterableIterator<ImportedClient>;
}

export function createResult(state: ImportState, { text }: Redactor): ImportResult {
  return {
    counts: { ...state.counts },
    *clients() {
      for (const [externalId, client] of state.clients) if (client.isSeen) yield describe(externalId, client);
      for (const externalId of state.repeated) {
        const repeated = `client "${externalId}": expected each externalId once, got it again`;
        const error = inputError(text(`${repeated}; for a second work of a client use another one`));
        yield { ...noWork, externalId, status: "failed", error };
      }
    },
  };
}

const noWork = { jobId: undefined, jobWorkId: undefined, workId: undefined, workExternalId: undefined };

function describe(externalId: string, client: ClientState): ImportedClient {
  const { status = "failed", error, job, jobWorkId, workId } = client;
  const common = { externalId, status, error };
  if (job === undefined || status === "failed" || status === "exists") return { ...noWork, ...common };
  const sent = workExternalId(externalId, job);
  const derived = sent === externalId ? undefined : sent;
  return { ...common, jobId: job.id, jobWorkId, workId, workExternalId: derived };
}
