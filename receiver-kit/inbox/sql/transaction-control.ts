// A handler's transaction is begun and ended by the inbox. A statement of a handler that ends it would make what was
// written before permanent although the event is not handled, and everything after it a commit of its own.

import { ReceiverError } from "../../errors.ts";

/** What may precede the first word of a statement, as the source of an expression. */
export const leadingBlanks = String.raw`^(?:[\s;]|--[^\n]*(?:\n|$)|/\*[\s\S]*?\*/)*`;
const ending =
  "BEGIN|START|COMMIT|END|ABORT|PREPARE\\s+TRANSACTION|ROLLBACK(?!\\s+((TRANSACTION|WORK)\\s+)?TO\\b)";
const control = new RegExp(`${leadingBlanks}(${ending})\\b`, "i");

const shareable = new RegExp(
  `${leadingBlanks}(SELECT|INSERT|UPDATE|DELETE|MERGE|WITH|VALUES|NOTIFY|SAVEPOINT|RELEASE|ROLLBACK)\\b`,
  "i",
);

const savepoint = new RegExp(`${leadingBlanks}(SAVEPOINT|RELEASE|ROLLBACK)\\b`, "i");

/** Whether a statement concerns its event alone, so that the transaction may be shared: not what sets or creates something. */
export function isShareable(statement: string): boolean {
  return shareable.test(statement);
}

/**
 * The keyword of a statement that begins or ends a transaction. Savepoints stay within it.
 *
 * @throws {ReceiverError} `ARGUMENT_INVALID` for anything but text, and for the inbox's own savepoints, which separate the
 * events of a transaction
 */
export function controlKeyword(statement: unknown): string | undefined {
  if (typeof statement !== "string") {
    const found = statement === null ? "null" : typeof statement;
    throw new ReceiverError(
      "ARGUMENT_INVALID",
      `query: statement: expected SQL as text, and its values as the second argument, got ${found}`,
    );
  }
  if (savepoint.test(statement) && /workspace_tasks_/i.test(statement)) {
    const message = "query: savepoint: expected a name that does not contain workspace_tasks_";
    throw new ReceiverError("ARGUMENT_INVALID", message);
  }
  return control.exec(statement)?.[1]?.toUpperCase();
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
