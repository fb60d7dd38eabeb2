import { checkInput } from "../validation.ts";
import { type ImportOptions, type ImportParts, importOptions, method } from "./import-input.ts";
import type { ImportResult } from "./import-result.ts";
import type { ClientTask, WaitForTasksOptions } from "./wait-for-tasks.ts";

export interface Imports {
  /**
   * Imports the tax preparations of any number of clients: jobs, works, uploads, artifacts, and the start of each job.
   *
   * A process that ends in the middle is continued by the same call with the same journal: nothing is imported twice, nothing
   * is forgotten, and what cannot be decided is `undecided` in the result. The next night is the same call with the clients of
   * that day: nothing is sent for those that are unchanged. A job some part of which is in doubt is abandoned: it stays
   * `pending` and has no effect, and its clients get works with a derived external id (`workExternalId`), once the service
   * shows no task of them. For that the client needs an `apiKey` of the connection's workspace besides a partner's key. All
   * calls are `background` calls. Two jobs are worked on at a time; only their clients are in memory, and of each of the others
   * about 400 bytes, and 120 for each uploaded file.
   *
   * A client that fails is in the result. The import itself ends with `API_KEY_REJECTED`, `API_KEY_UNAVAILABLE`,
   * `PERMISSION_DENIED`, `NOT_FOUND` or `CONFLICT` of the connection, `CLIENT_CLOSED`, `CONFIGURATION_INVALID`, `ABORTED`,
   * `ARGUMENT_INVALID`, `ON_PROGRESS_FAILED`, an error of `clients`, the error of a call that failed 8 times in a row, or
   * `JOURNAL_MISMATCH`, `JOURNAL_DAMAGED`, `JOURNAL_IN_USE`, `JOURNAL_FAILED`. The journal stays usable. Beyond the
   * interface in what `jobs` and `works` are.
   *
   * @see interface §4
   */
  start(options: ImportOptions): Promise<ImportResult>;

  /**
   * Waits for the `TAX_PREP` tasks of the clients that were imported, also of those imported before, and resolves to each of
   * them. A task that fails is in the list; other clients are not.
   *
   * Reads `tasks.list` with at most a quarter of the rate limit; needs an `apiKey` of the workspace. A program with a receiver
   * does it by events: `tasks.get(event.taskId)`, and `workIdOf(task)` is the `workId` of a client. Errors:
   * `ABORTED`, `CLIENT_CLOSED`, `CONFIGURATION_INVALID`, and those of `tasks.list`. Beyond the interface (assumed, A-15).
   */
  waitForTasks(result: ImportResult, options?: WaitForTasksOptions): Promise<readonly ClientTask[]>;
}

// Most programs import nothing, so what an import is made of is loaded with the first one.
export const createImports = (parts: ImportParts): Imports => ({
  async start(options) {
    const checked = checkInput(method, importOptions, options);
    const { startImport } = await import("./import-all.ts");
    return startImport(checked, parts);
  },

  async waitForTasks(result, options = {}) {
    const { waitForTasks } = await import("./wait-for-tasks.ts");
    return waitForTasks(result, options, parts);
  },
});
