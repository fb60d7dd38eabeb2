// What another role has prepared under the name of a table could have a trigger, which runs with the rights of the role that uses it,
// and its owner reads what is written there. So a table of ours is used only where a trusted role owns its schema and itself.

/** Reads who owns a schema, and which tables it has. Values: the schema, the names of the tables. */
export const ownersQuery = `
  SELECT class.relname AS name, pg_catalog.pg_get_userbyid(class.relowner) AS owner, current_user AS role,
    class.relkind = 'r' AND pg_catalog.pg_get_userbyid(class.relowner)
      IN (pg_catalog.pg_get_userbyid(space.nspowner), current_user) AS is_regular,
    pg_catalog.pg_has_role(space.nspowner, 'USAGE') AS is_own
  FROM pg_catalog.pg_namespace AS space
  LEFT JOIN pg_catalog.pg_class AS class ON class.relnamespace = space.oid
    AND class.relkind IN ('r', 'p', 'v', 'm', 'f') AND class.relname = ANY ($2::text[])
  WHERE space.nspname = $1`;

/**
 * Why these tables must not be used, with what to do.
 *
 * @param rows what `ownersQuery` has read
 */
export function foreignOwner(
  schema: string,
  rows: readonly Readonly<Record<string, unknown>>[],
): string | undefined {
  for (const { name, owner, role, is_regular: isRegular, is_own: isOwn } of rows) {
    if (isOwn !== true) {
      return `the schema ${schema} belongs to another role than ${role}, which could read and change what it has: remove it, or name another schema`;
    }
    if (name !== null && isRegular !== true) {
      return `${schema}.${name} belongs to ${owner}, not to the owner of the schema: remove it`;
    }
  }
  return undefined;
}
