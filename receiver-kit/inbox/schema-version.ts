// Which releases may use one schema at the same time.
//
// EXPAND AND CONTRACT. A migration adds what the next release needs, and must leave every statement of the releases that
// may still use the schema as it is: a new column may be null or has a default, a new table is unknown to them. What no
// permitted release uses any more is removed, or changes its meaning, in a later migration, which raises `oldestUsable`.
// So a process of the release before works beside the next one, and a release can be rolled back; one that is too old is
// told so by the schema itself, in the transaction in which it would have written.
//
// A migration is a few short statements: no process can store or claim while it runs. Rows are converted in steps, later.

import { ReceiverError } from "../errors.ts";

export interface Migration<Statements> {
  /** The first release that has it. */
  readonly release: string;
  /** Number of the oldest migration, from 1, whose release may use the schema after this one. It never decreases. */
  readonly oldestUsable: number;
  readonly statements: Statements;
}

/** The only row of a table of the schema. */
export interface SchemaVersion {
  /** How many migrations it has had. */
  readonly version: number;
  readonly oldestUsable: number;
  /** The first release that may use it. */
  readonly oldestRelease: string;
}

export const toSchemaVersion = (row: Readonly<Record<string, unknown>>): SchemaVersion => ({
  version: Number(row["version"]),
  oldestUsable: Number(row["oldest_usable"]),
  oldestRelease: String(row["oldest_release"]),
});

/** What the schema records after the last migration. */
export function schemaVersionOf(migrations: readonly Migration<unknown>[]): SchemaVersion {
  const oldestUsable = migrations.at(-1)?.oldestUsable ?? 0;
  const oldestRelease = migrations[oldestUsable - 1]?.release ?? "";
  return { version: migrations.length, oldestUsable, oldestRelease };
}

/** @param found as text, or as a placeholder of a message that the database writes */
export function tooOldMessage(
  store: string,
  own: SchemaVersion,
  found: Record<keyof SchemaVersion, unknown>,
) {
  return (
    `${store} inbox: a newer release migrated the schema to version ${found.version}, which needs release ` +
    `${found.oldestRelease} or newer; this one knows version ${own.version}, expected at least ${found.oldestUsable}: ` +
    `run release ${found.oldestRelease} or newer in this process`
  );
}

/** @throws {ReceiverError} `RELEASE_TOO_OLD` */
export function throwIfTooOld(store: string, own: SchemaVersion, found: SchemaVersion): void {
  if (found.oldestUsable <= own.version) return;
  throw new ReceiverError("RELEASE_TOO_OLD", tooOldMessage(store, own, found));
}
