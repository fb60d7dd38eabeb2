// A plain statement changes rows and nothing else, as far as its text can show: one SELECT, INSERT, UPDATE or DELETE whose
// functions are built in and leave nothing in the session. What its tables have, such as triggers, only the server knows:
// see hidden-code.ts. What is not recognized here is not plain.

const verb = /^\s*(select|insert|update|delete|with|values)\b/i;

/** Identifiers and strings, which may contain anything, and what takes their place. */
const quoted = /"(?:[^"]|"")*"|'(?:[^']|'')*'/g;
const [identifier, string] = ["\uffff", "\ufffe"];

/**
 * Other statements, comments, escapes, dollar quotes, a quote that is not closed, a prefix such as that of `E''`. A table
 * that SELECT INTO creates.
 */
const unreadable = /;|--|\/\*|\\|\$(?!\d)|['"]|[\w&]\ufffe|&\uffff|(?<!\binsert\s+)\binto\b/i;

const called = /([\w.$\u0080-\ufffd\uffff]+)\s*\(/g;
const target = /\binto\s+$/i;

/** Words of SQL that a parenthesis may follow. */
const words = `all and any array as between by case conflict distinct do else except exists filter from group having in
  intersect is join lateral like limit materialized not offset on only or order over partition returning select set some
  then union using values when where with within`;

/** Functions of PostgreSQL, and types with a length. */
export const plainFunctions =
  `abs array_agg array_append array_length avg bool_and bool_or btrim cardinality cast ceil
  char char_length clock_timestamp coalesce concat concat_ws count date_part date_trunc decimal decode encode extract
  first_value floor format gen_random_uuid greatest json_agg json_build_array json_build_object jsonb_agg
  jsonb_array_elements jsonb_array_length jsonb_build_array jsonb_build_object jsonb_set jsonb_strip_nulls lag last_value
  lead least left length lower lpad ltrim make_interval max md5 min mod now nullif numeric octet_length overlay position
  rank regexp_replace replace right round row row_number row_to_json rpad rtrim sha256 split_part statement_timestamp
  string_agg strpos substr substring sum time timestamp timestamptz to_char to_date to_json to_jsonb to_number to_timestamp
  transaction_timestamp translate trim unnest upper varchar`.split(/\s+/);

const mayBeCalled = new Set([...words.split(/\s+/), ...plainFunctions]);

/** `SELECT … FOR UPDATE` and the like; true for some others, too. */
export const locksRows = (statement: string) =>
  /\bfor\s+(no\s+key\s+|key\s+)?(update|share)\b/i.test(statement);

export function isPlainStatement(statement: string): boolean {
  if (!verb.test(statement) || statement.includes(identifier) || statement.includes(string)) return false;
  const bare = statement
    .replace(quoted, ([quote]) => (quote === '"' ? identifier : string))
    .replace(/\s*\.\s*/g, ".");
  if (unreadable.test(bare)) return false;
  return [...bare.matchAll(called)].every(
    ({ 1: name = "", index }) => mayBeCalled.has(name.toLowerCase()) || target.test(bare.slice(0, index)),
  );
}
