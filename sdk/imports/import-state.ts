// What is known of an import: the entries of its journal, applied in order, and what this process found out. 100,000 clients
// have their place here, so a client's state is small, and its input is not part of it.

import { jsonOrUndefined } from "@workspace-tasks/kernel/json.ts";
import * as s from "@workspace-tasks/kernel/schema.ts";
import { type ErrorCode, WorkspaceTasksError } from "../errors.ts";

export type ClientStatus = "open" | "imported" | "exists" | "failed" | "undecided";

/**
 * What is known of external ids when they are sent as works: `new` ones were never sent; those in `doubt` were, with an
 * unknown outcome; `derived` ones are made of the job's id, so that nothing else can have used them.
 */
export type WorkMode = "new" | "doubt" | "derived";

export interface ClientState {
  status: ClientStatus;
  /** How its external id is sent next. */
  mode: WorkMode;
  /** The job that has, or may have, its work, and its position there. */
  job: ImportJob | undefined;
  index: number;
  /** Jobs with this client alone that were abandoned. */
  attempts: number;
  /** In the input of this process. */
  isSeen: boolean;
  /** Settled by an earlier process. */
  before: boolean;
  error: WorkspaceTasksError | undefined;
  /** URLs of its uploads, by the artifact's external id. */
  uploads: Map<string, string> | undefined;
}

export interface ImportJob {
  readonly number: number;
  readonly id: string;
  readonly workspaceId: string;
  readonly mode: WorkMode;
  /** External ids of the input. */
  clients: readonly string[];
  /** None: whether it has works is not known. */
  jobWorkIds: readonly string[];
  workIds: readonly string[];
  /** Artifacts by position. `sent`: whether they are attached is not known. */
  readonly artifacts: Map<number, "sent" | "done" | "unsent">;
  isStarting: boolean;
}

export class ImportState {
  readonly clients = new Map<string, ClientState>();
  readonly counts = { open: 0, imported: 0, exists: 0, failed: 0, undecided: 0 };
  /** External ids that the input has again, with each repetition. */
  readonly repeated: string[] = [];
  readonly jobs = new Map<number, ImportJob>();
  jobCount = 0;
  /** From now on entries are of this process. */
  isReplayed = false;

  /** The state of a client, from now on also of one that was not known. */
  client(externalId: string): ClientState {
    const known = this.clients.get(externalId);
    if (known) return known;
    const none = { job: undefined, error: undefined, uploads: undefined };
    const flags = { isSeen: false, before: false };
    const client: ClientState = { status: "open", mode: "new", index: 0, attempts: 0, ...flags, ...none };
    this.counts.open += 1;
    this.clients.set(externalId, client);
    return client;
  }

  job(number: number): ImportJob {
    const job = this.jobs.get(number);
    if (!job) throw new Error(`expected a job that is open, got ${number}`);
    return job;
  }

  /** Those of its clients that are neither settled nor in another job. */
  openIn(job: ImportJob): readonly string[] {
    return job.clients.filter((externalId) => {
      const client = this.client(externalId);
      return client.status === "open" && client.job === job;
    });
  }

  /** Failed in this process, unless it is settled; the next one tries again. */
  fail(externalId: string, error: WorkspaceTasksError): void {
    if (this.client(externalId).status === "open") this.settle(externalId, "failed", error);
  }

  settle(externalId: string, status: Exclude<ClientStatus, "open">, error?: WorkspaceTasksError): void {
    const client = this.client(externalId);
    if (client.status !== "open") throw new Error("expected a client that is open, got one that is settled");
    this.counts.open -= 1;
    this.counts[status] += 1;
    Object.assign(client, { status, error, before: !this.isReplayed, uploads: undefined });
  }
}

const count = s.integerBetween(0, Number.MAX_SAFE_INTEGER);
const id = s.nonEmptyString;
const ids = s.array(id);
const mode = s.oneOf<WorkMode>("new", "doubt", "derived");

interface Entry<Values extends readonly unknown[]> {
  readonly fields: { readonly [Index in keyof Values]: s.Schema<Values[Index]> };
  apply(state: ImportState, ...values: Values): void;
}

const entry = <Values extends readonly unknown[] | []>(
  fields: Entry<Values>["fields"],
  apply: (state: ImportState, ...values: NoInfer<Values>) => void,
): Entry<Values> => ({ fields, apply });

/** The entries of a journal: their values, and what they say. Each is durable before anything depends on it. */
const entries = {
  /** Version of the format, connection, job name. The first entry. */
  import: entry([count, s.string, s.string], () => {}),
  /** Number, id and workspace of a job that these clients are about to be added to. */
  job: entry(
    [count, id, id, mode, s.nonEmptyArray(id)],
    (state, number, jobId, workspaceId, mode, clients) => {
      const none = { jobWorkIds: [], workIds: [], artifacts: new Map(), isStarting: false };
      const job = { number, id: jobId, workspaceId, mode, clients, ...none };
      state.jobs.set(number, job);
      state.jobCount = Math.max(state.jobCount, number);
      for (const [index, each] of clients.entries()) Object.assign(state.client(each), { job, index });
    },
  ),
  works: entry([count, ids, ids], (state, number, jobWorkIds, workIds) => {
    const job = state.job(number);
    if (jobWorkIds.length !== job.clients.length || workIds.length !== job.clients.length)
      throw new Error("expected a work for each client of the job");
    Object.assign(job, { jobWorkIds, workIds });
  }),
  /** Artifacts of the client at this position. */
  attach: entry([count, count, s.oneOf("sent", "done", "unsent")], (state, number, index, artifacts) => {
    state.job(number).artifacts.set(index, artifacts);
  }),
  /** The job is about to be started. */
  "start?": entry([count], (state, number) => {
    state.job(number).isStarting = true;
  }),
  start: entry([count], (state, number) => {
    const job = state.job(number);
    for (const externalId of state.openIn(job)) state.settle(externalId, "imported");
    state.jobs.delete(number);
    // What its clients still refer to is small.
    job.clients = [];
    job.artifacts.clear();
  }),
  /** Clients that leave their job, which has no works or is never started, and how they are sent next. */
  next: entry([mode, ids], (state, mode, clients) => {
    for (const externalId of clients) Object.assign(state.client(externalId), { mode, job: undefined });
  }),
  /** Client, artifact and URL of an upload that was begun. */
  upload: entry([id, id, id], (state, externalId, artifact, url) => {
    const client = state.client(externalId);
    client.uploads ??= new Map();
    client.uploads.set(artifact, url);
  }),
  /** Status of a client, with code and message of its error. */
  settled: entry(
    [s.oneOf("exists", "undecided"), id, s.string, s.string],
    (state, status, externalId, code, message) =>
      state.settle(
        externalId,
        status,
        new WorkspaceTasksError(code as ErrorCode, message, { outcome: "rejected" }),
      ),
  ),
};

type Entries = typeof entries;
type ValuesOf<Each> = Each extends Entry<infer Values> ? Values : never;
export type JournalEntry = {
  [Name in keyof Entries]: readonly [Name, ...ValuesOf<Entries[Name]>];
}[keyof Entries];

/** Reads an entry. Throws an error with a message for anything else. */
export function parseEntry(text: unknown): JournalEntry {
  const parsed = typeof text === "string" ? jsonOrUndefined(text) : undefined;
  const [name, ...values] = Array.isArray(parsed) ? (parsed as readonly unknown[]) : [];
  if (typeof name !== "string" || !Object.hasOwn(entries, name))
    throw new Error("expected an entry of an import");
  const fields: readonly s.Schema<unknown>[] = entries[name as keyof Entries].fields;
  if (values.length !== fields.length) throw new Error(`expected ${fields.length} values of ${name}`);
  return [name, ...fields.map((schema, index) => schema(values[index], name))] as never;
}

/** Throws for an entry that does not fit those before it. */
export function applyEntry(state: ImportState, [name, ...values]: JournalEntry): void {
  (entries[name].apply as (state: ImportState, ...values: readonly unknown[]) => void)(state, ...values);
}

/** The external id under which a client's work is sent. */
export function workExternalId(externalId: string, { mode, id }: Pick<ImportJob, "mode" | "id">): string {
  return mode === "derived" ? `${externalId}~${id.slice(-8)}` : externalId;
}
