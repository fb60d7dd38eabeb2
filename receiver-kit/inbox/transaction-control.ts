// A handler's transaction is begun and ended by the inbox. A statement of a handler that ends it would make what was
// written before permanent although the event is not handled, and everything after it a commit of its own.

import { ReceiverError } from "../errors.ts";

const leading = String.raw`^(?:[\s;]|--[^\n]*(?:\n|$)|/\*[\s\S]*?\*/)*`;
const ending =
  "BEGIN|START|COMMIT|END|ABORT|PREPARE\\s+TRANSACTION|ROLLBACK(?!\\s+((TRANSACTION|WORK)\\s+)?TO\\b)";
const control = new RegExp(`${leading}(${ending})\\b`, "i");

const shareable = new RegExp(
  `${leading}(SELECT|INSERT|UPDATE|DELETE|MERGE|WITH|VALUES|NOTIFY|SAVEPOINT|RELEASE|ROLLBACK)\\b`,
  "i",
);

const savepointControl = new RegExp(`${leading}(SAVEPOINT|RELEASE|ROLLBACK)\\b`, "i");

/**
 * Whether a statement concerns its event alone, so that the transaction may be shared: not SET or `set_config`, which hold
 * until the commit, nor what creates, locks or declares something.
 */
export function isShareable(statement: string): boolean {
  return shareable.test(statement) && !/\bset_config\b/i.test(statement);
}

/** Of what `isShareable` allows, the statements that do not change or read rows. */
export function isSavepointStatement(statement: string): boolean {
  return savepointControl.test(statement);
}

/** The keyword of a statement that begins or ends a transaction. Savepoints stay within it. */
export function controlKeyword(statement: string): string | undefined {
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
