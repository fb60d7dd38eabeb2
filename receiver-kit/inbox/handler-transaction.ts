// The transaction of a handler, whatever the inbox: what it throws, and which statements it does not execute.
//
// It is begun and ended by the inbox. A statement of a handler that ends it would make what was written before permanent
// although the event is not handled, and everything after it a commit of its own.
//
// NESTED: a transaction that an ORM begins on the client of a handler is a savepoint within the transaction of the event. There
// is one at a time: two at once would undo each other's writes. What an ORM nests in it are savepoints of its own.
//
// TEXT of statements is read in linear time: a pattern for comments that follow each other would take exponential time.

import { createBoundedCache, getOrCreate } from "@workspace-tasks/kernel/cache.ts";
import { ReceiverError } from "../errors.ts";

/** Another worker may have the row. */
export const leaseLost = () =>
  new ReceiverError(
    "LEASE_LOST",
    "the lease on this event was lost: another worker may be handling it, so nothing is written",
  );

/** A newer event of the same key was applied since the row was claimed. */
export const superseded = () =>
  new ReceiverError(
    "SUPERSEDED",
    "a newer event of the same task or stage was applied meanwhile, so nothing is written",
  );

export const transactionEnded = () =>
  new ReceiverError("TRANSACTION_ENDED", "the transaction of this event has ended");

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

export type Boundary = "begin" | "commit" | "rollback";

/** Which end of a transaction a statement is, where it is nothing else and asks for nothing that a savepoint has not. */
export function boundaryOf(statement: unknown, database: Database): Boundary | undefined {
  if (typeof statement !== "string") return undefined;
  const text = fromFirstWord(statement, database);
  for (const [boundary, pattern] of boundaries) {
    const [found] = pattern.exec(text) ?? [];
    if (found !== undefined && fromFirstWord(text.slice(found.length), database) === "") return boundary;
  }
  return undefined;
}

/** The transaction of an event is READ COMMITTED with PostgreSQL, and has the lock of the file with SQLite. */
const boundaries: readonly (readonly [Boundary, RegExp])[] = [
  [
    "begin",
    /^(?:BEGIN(?:\s+(?:DEFERRED|IMMEDIATE|EXCLUSIVE))?(?:\s+(?:WORK|TRANSACTION))?|START\s+TRANSACTION)\b(?:\s+ISOLATION\s+LEVEL\s+READ\s+COMMITTED\b)?(?:[\s,]+READ\s+WRITE\b)?/i,
  ],
  ["commit", /^(?:COMMIT|END)(?:\s+(?:WORK|TRANSACTION))?\b/i],
  ["rollback", /^(?:ROLLBACK|ABORT)(?:\s+(?:WORK|TRANSACTION))?\b/i],
];

export class NestedTransaction {
  readonly #fail: (error: Error) => never;
  #isOpen = false;

  /** @param fail makes the attempt fail, also where the handler catches the error */
  constructor(fail: (error: Error) => never) {
    this.#fail = fail;
  }

  /**
   * What is executed instead, one after the other; then call `passed`.
   *
   * @throws {ReceiverError} `TRANSACTION_ENDED_BY_SQL`
   */
  statementsOf(boundary: Boundary): readonly string[] {
    if (boundary === "begin" && this.#isOpen) this.#fail(openAlready());
    if (boundary !== "begin" && !this.#isOpen) this.#fail(controlRejected(boundary.toUpperCase()));
    return nestedStatements[boundary];
  }

  passed(boundary: Boundary): void {
    this.#isOpen = boundary === "begin";
  }

  /** @throws {ReceiverError} `QUERY_NOT_AWAITED`: a part of it would be committed with the event */
  requireEnded(): void {
    if (!this.#isOpen) return;
    const message =
      "a transaction that the handler began within that of its event was still open at the handler's end: await it";
    throw new ReceiverError("QUERY_NOT_AWAITED", message);
  }
}

/** No handler can name it: see `controlKeyword`. */
const nestedSavepoint = "workspace_tasks_nested";
const nestedStatements: Readonly<Record<Boundary, readonly string[]>> = {
  begin: [`SAVEPOINT ${nestedSavepoint}`],
  commit: [`RELEASE SAVEPOINT ${nestedSavepoint}`],
  rollback: [`ROLLBACK TO SAVEPOINT ${nestedSavepoint}`, `RELEASE SAVEPOINT ${nestedSavepoint}`],
};

const openAlready = () =>
  new ReceiverError(
    "TRANSACTION_ENDED_BY_SQL",
    "BEGIN was not executed: another transaction is open on this client; await it before the next one, or nest them as the ORM does, with savepoints",
  );

/**
 * `target` as a handler may use it: `members` are in place of its own, and what a handler sets or freezes is not set or
 * frozen on the target itself. Its methods run on it.
 */
export function guarded<Target extends object>(
  target: Target,
  members: Readonly<Record<string, unknown>>,
): Target {
  const own: object = Object.assign(Object.create(Object.getPrototypeOf(target)), members);
  return new Proxy(own, {
    get(_, property) {
      const owner = Object.hasOwn(own, property) ? own : target;
      const value: unknown = Reflect.get(owner, property, owner);
      const isMethod = typeof value === "function" && owner === target && property !== "constructor";
      return isMethod ? value.bind(target) : value;
    },
    has: (_, property) => property in own || property in target,
  }) as Target;
}

/** The words that an SQL statement begins with, at most five: what it does, and to which table, but no value. */
export function firstWords(statement: string): string {
  const words: string[] = [];
  for (const word of fromFirstWord(statement, "postgres").slice(0, charactersMax).split(/\s+/)) {
    // Literals, parameters and quoted names, which may be literals in SQLite, are not words.
    if (!/^(?:[a-z_][\w.]*|\*)$/i.test(word)) break;
    words.push(word);
    if (words.length === wordsMax || (words.length > 1 && beforeValues.test(word))) break;
  }
  return words.join(" ");
}

const beforeValues = /^(?:values|set|where|to|select|as|is)$/i;
const wordsMax = 5;
const charactersMax = 60;

/** Handlers send the same statements again and again; one may write values into them, so that each is another text. */
const rememberedMax = 100;
const rememberedLengthMax = 10_000;

/** `read`, once for each of the texts that were used last. */
export function remembering<Value>(read: (text: string) => Value): (text: string) => Value {
  const known = createBoundedCache<string, Value>(rememberedMax);
  // Callers may pass anything.
  return (text) => (text?.length > rememberedLengthMax ? read(text) : getOrCreate(known, text, read));
}

/** A statement from its first word on. The comments of PostgreSQL may contain comments, those of SQLite end at the first end. */
export function fromFirstWord(statement: string, database: Database): string {
  for (let at = 0; ; ) {
    blank.lastIndex = at;
    const [found] = blank.exec(statement) ?? [];
    if (found === undefined) return statement.slice(at);
    at = found === "/*" ? endOfComment(statement, at, database) : blank.lastIndex;
  }
}

export type Database = "postgres" | "sqlite";

const blank = /[\s;]+|--[^\n]*|\/\*/y;

function endOfComment(text: string, start: number, database: Database): number {
  const delimiters = /\/\*|\*\//g;
  delimiters.lastIndex = start + "/*".length;
  for (let depth = 1; depth > 0; ) {
    const [found] = delimiters.exec(text) ?? [];
    if (found === undefined) return text.length;
    if (found === "*/") depth -= 1;
    else if (database === "postgres") depth += 1;
  }
  return delimiters.lastIndex;
}

/** The statements of a text for SQLite; of several, without what is quoted. Some of its drivers execute the first one only. */
export function sqliteStatements(text: string): readonly string[] {
  if (!/;\s*\S/.test(text)) return [text];
  const statements: string[] = [];
  let isInTrigger = false;
  for (const part of text.replace(quotedOrComment, " ").split(";")) {
    if (part.trim() === "") continue;
    // Its own statements end with `;`, and it with `; END`.
    if (isInTrigger) {
      isInTrigger = !/^\s*END\b/i.test(part);
      continue;
    }
    statements.push(part);
    isInTrigger = /^\s*CREATE\s+(?:TEMP(?:ORARY)?\s+)?TRIGGER\b/i.test(part);
  }
  return statements;
}

/** A quote within a quoted text is written twice, which is a second text here. What does not end, ends with the text. */
const quotedOrComment =
  /--[^\n]*|\/\*[\s\S]*?(?:\*\/|$)|'[^']*(?:'|$)|"[^"]*(?:"|$)|`[^`]*(?:`|$)|\[[^\]]*(?:\]|$)/g;
