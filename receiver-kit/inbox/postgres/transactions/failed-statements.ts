import { ReceiverError } from "../../../errors.ts";
import { firstWords } from "../../sql/first-words.ts";
import { codeOf } from "../connection/server-errors.ts";

/** The transaction is aborted by an earlier error. */
export const isAborted = (error: unknown) => codeOf(error) === "25P02";

/** The statements of one handler that failed. */
export class FailedStatements {
  /** One was ended by a deadlock, or would have broken the isolation level. */
  isConflict = false;
  #last: { readonly statement: string; readonly code: string } | undefined;

  get isEmpty(): boolean {
    return this.#last === undefined;
  }

  /** Returns what to throw. */
  add(statement: string, error: unknown): unknown {
    const code = codeOf(error);
    if (isAborted(error)) return this.explain(error);
    this.#last = { statement, code };
    this.isConflict ||= code.startsWith("40");
    return error;
  }

  /** What to report instead of `error`: that the transaction is aborted says nothing about why. */
  explain(error: unknown): unknown {
    if (!isAborted(error)) return error;
    const { statement, code } = this.#last ?? { statement: "", code: "" };
    const failed = this.#last ? `"${firstWords(statement)} …" (SQLSTATE ${code})` : "a statement";
    return new ReceiverError(
      "TRANSACTION_ABORTED",
      `PostgreSQL had aborted the transaction of this event, because ${failed} failed and the handler caught the error; throw it, or run the statement between SAVEPOINT and ROLLBACK TO`,
      { cause: error },
    );
  }
}
