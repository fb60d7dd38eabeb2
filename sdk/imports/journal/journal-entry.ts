import { jsonOrUndefined } from "@workspace-tasks/kernel/json.ts";
import * as s from "@workspace-tasks/kernel/schema.ts";

/**
 * What is known of external ids when they are sent as works: `new` ones were never sent; those in `doubt` were, with an
 * unknown outcome; `derived` ones are made of the job's id, so that nothing else can have used them.
 */
export type WorkMode = "new" | "doubt" | "derived";

const count = s.integerBetween(0, Number.MAX_SAFE_INTEGER);
const texts = s.array(s.nonEmptyString);

// A question mark: durable before the request is sent. The same name without it: durable after the response. `job` is the
// number of a job, `client` an external id of the input, `index` the position of a client in its job.
const fields = {
  /** Version of the format, connection, job name. The first entry. */
  import: [count, s.string, s.string],
  /** job, its id, its workspace */
  job: [count, s.nonEmptyString, s.nonEmptyString],
  /** job, mode, clients */
  "works?": [count, s.oneOf<WorkMode>("new", "doubt", "derived"), s.nonEmptyArray(s.nonEmptyString)],
  /** job, ids of the job works, ids of the works */
  works: [count, texts, texts],
  /** job: its works were rejected, and it has none */
  rejected: [count],
  /** job, index */
  "attach?": [count, count],
  attach: [count, count],
  /** job, index: certainly not attached */
  unattached: [count, count],
  "start?": [count],
  start: [count],
  /** clients that are sent with derived ids from now on */
  derived: [texts],
  /** job: it is never started, and its clients get another one */
  abandoned: [count],
  /** client, artifact, URL */
  upload: [s.nonEmptyString, s.nonEmptyString, s.nonEmptyString],
  /** status, client, code and message of its error */
  settled: [s.oneOf<"exists" | "undecided">("exists", "undecided"), s.nonEmptyString, s.string, s.string],
} as const;

type Fields = typeof fields;
type Values<List extends readonly s.Schema<unknown>[]> = {
  readonly [Index in keyof List]: List[Index] extends s.Schema<infer Value> ? Value : never;
};
export type JournalEntry = {
  [Name in keyof Fields]: readonly [Name, ...Values<Fields[Name]>];
}[keyof Fields];

/** Reads an entry. Throws an error with a message for anything else. */
export function parseEntry(text: unknown): JournalEntry {
  const parsed = typeof text === "string" ? jsonOrUndefined(text) : undefined;
  const [name, ...values] = Array.isArray(parsed) ? (parsed as readonly unknown[]) : [];
  if (typeof name !== "string" || !Object.hasOwn(fields, name))
    throw new Error("expected an entry of an import");
  const schemas: readonly s.Schema<unknown>[] = fields[name as keyof Fields];
  if (values.length !== schemas.length) throw new Error(`expected ${schemas.length} values of ${name}`);
  return [name, ...schemas.map((schema, index) => schema(values[index], name))] as never;
}
