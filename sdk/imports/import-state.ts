// What is known of an import: the entries of its journal, applied in order, and what this process found out. 100,000 clients
// have their place here, so a client's state is small, and its input is not part of it.
//
//   no job ──works?──► its job may have its work ──works──► it has ──attach?, attach──► with documents ──start?, start──► imported
//     ▲───────────────────────────────next──────────────────────────────────────────────────┘               │
//     └────────────────────────────────────────────next: a second work─────────────────────────────────────┘

import { jsonOrUndefined } from "@workspace-tasks/kernel/json.ts";
import * as s from "@workspace-tasks/kernel/schema.ts";
import type { WorkspaceTasksError } from "../errors.ts";

export type ClientStatus = "imported" | "unchanged" | "changed" | "exists" | "failed" | "undecided";

/**
 * How a client's work is sent next: under its own external id (`new`); under an id that is made of its job's, so that nothing
 * else can have used it (`derived`); so, but alone, because its documents were in doubt (`alone`).
 */
export type WorkMode = "new" | "derived" | "alone";

export interface ImportJob {
  readonly number: number;
  readonly id: string;
  readonly workspaceId: string;
  readonly mode: WorkMode;
  /** External ids of the input. */
  readonly clients: readonly string[];
  isStarting: boolean;
}

// The fields that nearly every client gets lie in the object itself; a list of others beside it takes more memory. Those
// that few get are declared only.
export class ClientState {
  /** A job that has its newest work was started. */
  isImported = false;
  mode: WorkMode = "new";
  /** The job that has, or may have, its newest work. */
  job: ImportJob | undefined = undefined;
  /** Id of its newest work. None: whether the job has it is not known. */
  workId: string | undefined = undefined;
  /** Id of that in its job. None: only the task of the work was found. */
  jobWorkId: string | undefined = undefined;
  /** `sent`: whether its documents are attached is not known. */
  attaching: "sent" | "attached" | undefined = undefined;
  /** Fingerprint of the documents of its newest work. None of an imported client: what it was imported with is not known. */
  documents: string | undefined = undefined;
  /** In the input of this process. */
  isSeen = false;
  /** What this process found out. */
  status: ClientStatus | undefined = undefined;
  declare error?: WorkspaceTasksError;
  /** A line for each upload that was begun: the key of the document, and its URL. */
  declare uploads?: string;
  /** Its works before the newest that were imported, or have documents. */
  declare earlier?: readonly EarlierWork[];
  /** How many jobs in a row were rejected, or in doubt because of its documents, in this process. */
  declare attempts?: number;
}

interface EarlierWork extends Pick<ClientState, "workId" | "documents" | "isImported"> {
  readonly jobId: string;
}

export class ImportState {
  readonly clients = new Map<string, ClientState>();
  /** The counts of the clients that this process has read. `open`: not settled yet. */
  readonly counts = { open: 0, imported: 0, unchanged: 0, changed: 0, exists: 0, failed: 0, undecided: 0 };
  /** External ids that the input has again, with each repetition. */
  readonly repeated: string[] = [];
  readonly jobs = new Map<number, ImportJob>();
  jobCount = 0;

  /** The state of a client, from now on also of one that was not known. */
  client(externalId: string): ClientState {
    const known = this.clients.get(externalId);
    if (known) return known;
    const client = new ClientState();
    this.clients.set(externalId, client);
    return client;
  }

  job(number: number): ImportJob {
    const job = this.jobs.get(number);
    if (!job) throw new Error(`expected a job that is open, got ${number}`);
    return job;
  }

  /** Those of its clients that are neither imported nor in another job. */
  openIn(job: ImportJob): readonly string[] {
    return job.clients.filter((externalId) => {
      const client = this.client(externalId);
      return !client.isImported && client.job === job;
    });
  }

  /** Takes a client of the input. @returns whether it is its first time */
  see(externalId: string): boolean {
    const client = this.client(externalId);
    if (client.isSeen) {
      this.counts.failed += 1;
      this.repeated.push(externalId);
      return false;
    }
    client.isSeen = true;
    this.counts.open += 1;
    return true;
  }

  /** Settles a client of the input for this process. The first status counts. */
  settle(externalId: string, status: ClientStatus, error?: WorkspaceTasksError): void {
    const client = this.client(externalId);
    if (!client.isSeen || client.status) return;
    this.counts.open -= 1;
    this.counts[status] += 1;
    client.status = status;
    if (error) client.error = error;
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
const mode = s.oneOf<WorkMode>("new", "derived", "alone");

// A question mark: durable before the request is sent. The same name without it: durable after the response.
const entries = {
  /** Version of the format, and connection. The first entry. */
  import: entry([count, s.string], () => {}),
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
      Object.assign(state.client(each), { jobWorkId: jobWorkIds[index], workId: workIds[index] });
  }),
  /** A client, and the fingerprint of its documents. */
  "attach?": entry([id, s.string], (state, externalId, documents) => {
    Object.assign(state.client(externalId), { attaching: "sent", documents });
  }),
  attach: entry([id], (state, externalId) => {
    state.client(externalId).attaching = "attached";
  }),
  "start?": entry([count], (state, number) => {
    state.job(number).isStarting = true;
  }),
  start: entry([count], (state, number) => {
    const job = state.job(number);
    for (const externalId of state.openIn(job)) {
      const client = state.client(externalId);
      Object.assign(client, { isImported: true, documents: client.documents ?? "" });
    }
    state.jobs.delete(number);
  }),
  /** An imported client, and the fingerprint of the documents that the caller says it has. */
  documents: entry([id, s.string], (state, externalId, documents) => {
    state.client(externalId).documents = documents;
  }),
  /** The service has a task of this client: id of the job, id of the work, and how that was added. */
  found: entry([id, s.string, s.string, mode], (state, externalId, jobId, workId, mode) => {
    const client = state.client(externalId);
    const job = { number: 0, id: jobId, workspaceId: "", mode, clients: [externalId], isStarting: false };
    // Whether a request in doubt has attached them is not known.
    const isNewest = client.job?.id === jobId && client.attaching === "attached";
    const known = isNewest ? client : client.earlier?.find((work) => work.jobId === jobId);
    const { documents } = known ?? {};
    Object.assign(client, { isImported: true, job, workId, jobWorkId: undefined, documents });
  }),
  /** Clients that leave their job, which is never started or has no works, or get a second work; how they are sent next. */
  next: entry([mode, ids], (state, mode, clients) => {
    const work = { job: undefined, workId: undefined, jobWorkId: undefined };
    const none = { ...work, attaching: undefined, documents: undefined, isImported: false };
    for (const externalId of clients) {
      const client = state.client(externalId);
      const { earlier = [], job, workId, documents, isImported } = client;
      if (job && (isImported || client.attaching === "attached"))
        client.earlier = [...earlier, { jobId: job.id, workId, documents, isImported }];
      Object.assign(client, none, { mode });
    }
  }),
  /** Client, key of the document, and the URL of its upload. */
  upload: entry([id, id, id], (state, externalId, key, url) => {
    const client = state.client(externalId);
    const others = (client.uploads ?? "").split("\n").filter((line) => line !== "" && !line.startsWith(key));
    client.uploads = [...others, `${key} ${url}`].join("\n");
  }),
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

const suffixOf = (jobId: string) => `~${jobId.slice(-8)}`;

/** The external id under which a client's work is sent. */
export function workExternalId(externalId: string, { mode, id }: Pick<ImportJob, "mode" | "id">): string {
  return mode === "new" ? externalId : externalId + suffixOf(id);
}

/** The client's own external id in one that may be derived, if it is; `jobId`: of the job that its work is in. */
export function derivedFrom(sent: string, jobId: string): string | undefined {
  return sent.endsWith(suffixOf(jobId)) ? sent.slice(0, -suffixOf(jobId).length) : undefined;
}
