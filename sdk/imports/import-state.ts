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

export interface ImportJob {
  readonly number: number;
  readonly id: string;
  readonly workspaceId: string;
  readonly mode: WorkMode;
  /** External ids of the input. */
  readonly clients: readonly string[];
  isStarting: boolean;
}

export interface BegunUpload {
  readonly url: string;
  /** Tells whether it is of the same file: size and time of the last change. */
  readonly version: string;
}

export interface ClientState {
  status: ClientStatus;
  /** How its external id is sent next. */
  mode: WorkMode;
  /** The job that has, or may have, its work. */
  job?: ImportJob | undefined;
  /** Ids of its work. None: whether the job has it is not known. */
  work?: readonly [jobWorkId: string, workId: string] | undefined;
  /** `sent`: whether its artifacts are attached is not known. */
  artifacts?: "sent" | "attached" | undefined;
  /** By the artifact's external id. */
  uploads?: Map<string, BegunUpload> | undefined;
  /** In the input of this process. */
  isSeen: boolean;
  /** Settled by an earlier process. */
  before: boolean;
  error?: WorkspaceTasksError | undefined;
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
    const client: ClientState = { status: "open", mode: "new", isSeen: false, before: false };
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
    const isOpen = (client: ClientState) => client.status === "open" && client.job === job;
    return job.clients.filter((externalId) => isOpen(this.client(externalId)));
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

interface Entry<Values extends readonly unknown[]> {
  readonly fields: { readonly [Index in keyof Values]: s.Schema<Values[Index]> };
  apply(state: ImportState, ...values: Values): void;
}

const entry = <Values extends readonly unknown[] | []>(
  fields: Entry<Values>["fields"],
  apply: (state: ImportState, ...values: NoInfer<Values>) => void,
): Entry<Values> => ({ fields, apply });

const count = s.integerBetween(0, Number.MAX_SAFE_INTEGER);
const id = s.nonEmptyString;
const ids = s.array(id);
const mode = s.oneOf<WorkMode>("new", "doubt", "derived");

// A question mark: durable before the request is sent. The same name without it: durable after the response.
const entries = {
  /** Version of the format, connection, job name. The first entry. */
  import: entry([count, s.string, s.string], () => {}),
  /** Number, id and workspace of a job, and how these clients are added to it. */
  "works?": entry([count, id, id, mode, ids], (state, number, id, workspaceId, mode, clients) => {
    const job = { number, id, workspaceId, mode, clients, isStarting: false };
    state.jobs.set(number, job);
    state.jobCount = Math.max(state.jobCount, number);
    for (const each of clients) Object.assign(state.client(each), { job });
  }),
  /** Number of the job, ids of the job works, ids of the works. */
  works: entry([count, ids, ids], (state, number, jobWorkIds, workIds) => {
    const { clients } = state.job(number);
    if (jobWorkIds.length !== clients.length || workIds.length !== clients.length)
      throw new Error("expected a work for each client of the job");
    for (const [index, each] of clients.entries())
      state.client(each).work = [jobWorkIds[index] ?? "", workIds[index] ?? ""];
  }),
  "attach?": entry([id], (state, externalId) => {
    state.client(externalId).artifacts = "sent";
  }),
  attach: entry([id], (state, externalId) => {
    state.client(externalId).artifacts = "attached";
  }),
  "start?": entry([count], (state, number) => {
    state.job(number).isStarting = true;
  }),
  start: entry([count], (state, number) => {
    const job = state.job(number);
    for (const externalId of state.openIn(job)) state.settle(externalId, "imported");
    state.jobs.delete(number);
  }),
  /** Clients that leave their job, which has no works or is never started, and how they are sent next. */
  next: entry([mode, ids], (state, mode, clients) => {
    const none = { job: undefined, work: undefined, artifacts: undefined };
    for (const externalId of clients) Object.assign(state.client(externalId), { mode, ...none });
  }),
  /** Client, artifact, URL and version of the file of an upload that was begun. */
  upload: entry([id, id, id, s.string], (state, externalId, artifact, url, version) => {
    const client = state.client(externalId);
    client.uploads ??= new Map();
    client.uploads.set(artifact, { url, version });
  }),
  /** Status of a client, with code and message of its error. */
  settled: entry(
    [s.oneOf("exists", "undecided"), id, s.string, s.string],
    (state, status, id, code, message) => {
      const error = new WorkspaceTasksError(code as ErrorCode, message, { outcome: "rejected" });
      state.settle(id, status, error);
    },
  ),
};

type ValuesOf<Each> = Each extends Entry<infer Values> ? Values : never;
type Entries = typeof entries;
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
export function workExternalId(externalId: string, { mode, id }: ImportJob): string {
  return mode === "derived" ? `${externalId}~${id.slice(-8)}` : externalId;
}
