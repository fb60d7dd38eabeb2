// What a plain statement can run without naming it: triggers, rules, policies, defaults, checks, expressions of indexes;
// functions of the database behind operators, casts and names that PostgreSQL has too. Such code can set or leave anything.
// The server knows which relations a transaction has touched by the locks that it holds until its end; another row may
// lead to their partitions, and by a cascade to the tables that refer to them. Code in C comes with an extension, which
// only a superuser installs.

import { plainFunctions } from "./plain-statement.ts";
import { namedFunction, type ServerFunction } from "./postgres-functions.ts";

/** The first number of an object that the database did not begin with. */
const firstOwn = 16_384;

/** Volatile functions of PostgreSQL that leave nothing but the place of a sequence. */
const harmless = ["clock_timestamp", "gen_random_uuid", "nextval", "random", "timeofday", "uuidv4", "uuidv7"];

const list = (names: readonly string[]) => names.map((name) => `'${name}'`).join(", ");

/** Functions that a plain statement may run, though it does not name them. */
const isHidden = `routine.oid >= ${firstOwn} AND (routine.prolang NOT IN (12, 13) OR routine.prokind = 'a') AND (
        routine.proname IN (${list(plainFunctions)})
        OR routine.pronargs > 0 AND routine.pronargs - routine.pronargdefaults <= 1 AND (routine.provariadic <> 0
          OR EXISTS (SELECT FROM pg_catalog.pg_type AS first
            WHERE first.oid = routine.proargtypes[0] AND first.typtype IN ('c', 'd', 'p')))
        OR EXISTS (SELECT FROM pg_catalog.pg_operator WHERE oid >= ${firstOwn} AND oprcode = routine.oid)
        OR EXISTS (SELECT FROM pg_catalog.pg_cast WHERE oid >= ${firstOwn} AND castfunc = routine.oid)
        OR EXISTS (SELECT FROM pg_catalog.pg_amproc WHERE oid >= ${firstOwn} AND amproc = routine.oid)
        OR EXISTS (SELECT FROM pg_catalog.pg_range
          WHERE rngtypid >= ${firstOwn} AND routine.oid IN (rngcanonical, rngsubdiff)))`;

/** Expressions that run when rows of the relation change, and those of all domains. */
const expressions = `SELECT adbin::text FROM pg_catalog.pg_attrdef WHERE adrelid = ANY (touched)
        UNION ALL SELECT conbin::text FROM pg_catalog.pg_constraint WHERE conrelid = ANY (touched) AND contype = 'c'
        UNION ALL SELECT conbin::text FROM pg_catalog.pg_constraint WHERE contypid >= ${firstOwn}
        UNION ALL SELECT typdefaultbin::text FROM pg_catalog.pg_attribute
          JOIN pg_catalog.pg_type ON pg_type.oid = atttypid WHERE attrelid = ANY (touched)
        UNION ALL SELECT concat(indexprs::text, indpred::text) FROM pg_catalog.pg_index WHERE indrelid = ANY (touched)
        UNION ALL SELECT partexprs::text FROM pg_catalog.pg_partitioned_table WHERE partrelid = ANY (touched)`;

/** Whether all that the transaction has touched is free of such code. */
export function touchesPlainFunction(schema: string): ServerFunction {
  const definition = `() RETURNS boolean LANGUAGE plpgsql AS $function$
    DECLARE touched oid[] := ARRAY(
      WITH RECURSIVE reached (relation) AS (
        SELECT held.relation FROM pg_catalog.pg_lock_status() AS held
        WHERE held.locktype = 'relation' AND held.pid = pg_catalog.pg_backend_pid()
        UNION SELECT next.relation FROM reached CROSS JOIN LATERAL (
          SELECT inhrelid FROM pg_catalog.pg_inherits WHERE inhparent = reached.relation
          UNION ALL SELECT inhparent FROM pg_catalog.pg_inherits WHERE inhrelid = reached.relation
          UNION ALL SELECT conrelid FROM pg_catalog.pg_trigger
            JOIN pg_catalog.pg_constraint ON pg_constraint.oid = tgconstraint
            WHERE tgrelid = reached.relation AND confrelid = tgrelid) AS next (relation)
          WHERE reached.relation >= ${firstOwn})
      SELECT relation FROM reached);
    BEGIN
      RETURN NOT EXISTS (SELECT FROM pg_catalog.pg_class AS relation WHERE oid = ANY (touched) AND (
        relkind NOT IN ('r', 'p', 'i', 'I', 'S', 't') OR relhasrules OR relrowsecurity
        OR relhastriggers AND EXISTS (SELECT FROM pg_catalog.pg_trigger
          WHERE tgrelid = relation.oid AND NOT tgisinternal)))
      AND NOT EXISTS (SELECT FROM (${expressions}) AS expression (tree)
        CROSS JOIN LATERAL pg_catalog.regexp_matches(tree, ':(?:op)?funcid (\\d+)', 'g') AS found (ids)
        JOIN pg_catalog.pg_proc AS routine ON routine.oid = CAST(found.ids[1] AS oid)
        WHERE CASE WHEN routine.oid >= ${firstOwn} THEN routine.prolang NOT IN (12, 13) OR routine.prokind = 'a'
          ELSE routine.provolatile = 'v' AND routine.proname NOT IN (${list(harmless)}) END)
      AND NOT EXISTS (SELECT FROM pg_catalog.pg_proc AS routine WHERE ${isHidden});
    END $function$`;
  return namedFunction(schema, "touches_plain", definition);
}
