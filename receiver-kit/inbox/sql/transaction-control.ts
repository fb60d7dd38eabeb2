// A handler's transaction is begun and ended by the inbox. A statement of a handler that ends it would make what was
// written before permanent although the event is not handled, and everything after it a commit of its own.

import { ReceiverError } from "../../errors.ts";
import { type Database, fromFirstWord } from "./statement-text.ts";

const control =
  /^(BEGIN|START|COMMIT|END|ABORT|PREPARE\s+TRANSACTION|ROLLBACK(?!\s+((TRANSACTION|WORK)\s+)?TO\b))\b/i;
const savepoint = /^(SAVEPOINT|RELEASE|ROLLBACK)\b/i;

/**
 * The keyword of a statement that begins or ends a transaction. Savepoints stay within it.
 *
 * @throws {ReceiverError} `ARGUMENT_INVALID` for anything but text, and for the inbox's own savepoints, which separate the
 * events of a transaction
 */
export function controlKeyword(statement: unknown, database: Database): string | undefined {
  if (typeof statement !== "string") {
    const found = statement === null ? "null" : typeof statement;
    throw new ReceiverError(
      "ARGUMENT_INVALID",
      `query: statement: expected SQL as text, and its values as the second argument, got ${found}`,
    );
  }
  const text = fromFirstWord(statement, database);
  if (savepoint.test(text) && /workspace_tasks_/i.test(text)) {
    const message = "query: savepoint: expected a name that does not contain workspace_tasks_";
    throw new ReceiverError("ARGUMENT_INVALID", message);
  }
  return control.exec(text)?.[1]?.toUpperCase();
}

export function controlRejected(keyword: string): ReceiverError {
  return new ReceiverError(
    "TRANSACTION_ENDED_BY_SQL",
    `${keyword} was not executed: the inbox begins and ends the transaction of an event; for a part of it use SAVEPOINT, for all of it throw`,
  );
}

export function endedBySql(hint: string): ReceiverError {
  return new ReceiverError(
    "TRANSACTION_ENDED_BY_SQL",
    `the transaction of this event was ended by ${hint}; nothing more of this attempt is executed, and the event is handled again`,
  );
}
