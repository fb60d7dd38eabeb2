// What is known of an import: the entries of its journal, applied in order, and what this process found out. 100,000 clients
// have their place here, so a client's state is small, and its input is not part of it.

import { type ErrorCode, WorkspaceTasksError } from "../errors.ts";
import type { JournalEntry, WorkMode } from "./journal/journal-entry.ts";

export type ClientStatus = "open" | "imported" | "exists" | "failed" | "undecided";

export interface ClientState {
  status: ClientStatus;
  /** How its external id is sent next. */
  mode: WorkMode;
  /** The job that has, or may have, its work. */
  job: ImportJob | undefined;
  /** Its position in the job. */
  index: number;
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
  mode: WorkMode;
  /** External ids of the input. None: the job has no works. */
  clients: readonly string[];
  /** Works were sent, and it is unknown whether the job has them. */
  isDoubted: boolean;
  jobWorkIds: readonly string[];
  workIds: readonly string[];
  attached: Set<number>;
  /** Positions whose artifacts were sent, and it is unknown whether they are attached. */
  attaching: Set<number>;
  isStarting: boolean;
}

type Appliers = {
  readonly [Entry in JournalEntry as Entry[0]]: Entry extends readonly [string, ...infer Values]
    ? (...values: Values) => unknown
    : never;
};

export class ImportState {
  readonly clients = new Map<string, ClientState>();
  /** Jobs that are neither started nor abandoned, by number. */
  readonly jobs = new Map<number, ImportJob>();
  readonly counts: Record<ClientStatus, number> = {
    open: 0,
    imported: 0,
    exists: 0,
    failed: 0,
    undecided: 0,
  };
  /** External ids that the input has again, with each repetition. */
  readonly repeated: string[] = [];
  jobCount = 0;
  #isReplayed = false;

  /** The state of a client, from now on also of one that was not known. */
  client(externalId: string): ClientState {
    const known = this.clients.get(externalId);
    if (known) return known;
    const client: ClientState = {
      status: "open",
      mode: "new",
      job: undefined,
      index: 0,
      isSeen: false,
      before: false,
      error: undefined,
      uploads: undefined,
    };
    this.counts.open += 1;
    this.clients.set(externalId, client);
    return client;
  }

  /** Failed in this process, unless it is settled; the next one tries again. */
  fail(externalId: string, error: WorkspaceTasksError): void {
    const client = this.client(externalId);
    if (client.status === "open") this.#settle(client, "failed", error);
  }

  /** From now on entries are of this process. */
  endReplay(): void {
    this.#isReplayed = true;
    for (const job of this.jobs.values())
      job.isDoubted = job.clients.length > 0 && job.jobWorkIds.length === 0;
  }

  /** Throws for an entry that does not fit those before it. */
  apply([name, ...values]: JournalEntry): void {
    (this.#appliers[name] as (...values: readonly unknown[]) => void)(...values);
  }

  readonly #appliers: Appliers = {
    import: () => {},
    job: (number, id, workspaceId) => this.#addJob(number, id, workspaceId),
    "works?": (number, mode, clients) => this.#assign(this.#job(number), mode, clients),
    works: (number, jobWorkIds, workIds) => this.#confirm(this.#job(number), jobWorkIds, workIds),
    rejected: (number) => this.#release(this.#job(number)),
    "attach?": (number, index) => this.#job(number).attaching.add(index),
    attach: (number, index) => {
      this.#job(number).attached.add(index);
      this.#job(number).attaching.delete(index);
    },
    unattached: (number, index) => this.#job(number).attaching.delete(index),
    "start?": (number) => {
      this.#job(number).isStarting = true;
    },
    start: (number) => this.#start(this.#job(number)),
    derived: (clients) => {
      for (const externalId of clients) this.client(externalId).mode = "derived";
    },
    abandoned: (number) => this.#abandon(this.#job(number)),
    upload: (externalId, artifact, url) => {
      const client = this.client(externalId);
      client.uploads ??= new Map();
      client.uploads.set(artifact, url);
    },
    settled: (status, externalId, code, message) => {
      const error = new WorkspaceTasksError(code as ErrorCode, message, { outcome: "rejected" });
      this.#settle(this.client(externalId), status, error);
    },
  };

  #job(number: number): ImportJob {
    const job = this.jobs.get(number);
    if (!job) throw new Error(`expected a job that is open, got ${number}`);
    return job;
  }

  #addJob(number: number, id: string, workspaceId: string): void {
    this.jobCount = Math.max(this.jobCount, number);
    const none = {
      clients: [],
      jobWorkIds: [],
      workIds: [],
      attached: new Set<number>(),
      attaching: new Set<number>(),
    };
    this.jobs.set(number, {
      number,
      id,
      workspaceId,
      mode: "new",
      ...none,
      isDoubted: false,
      isStarting: false,
    });
  }

  #assign(job: ImportJob, mode: WorkMode, clients: readonly string[]): void {
    [job.mode, job.clients] = [mode, clients];
    for (const [index, externalId] of clients.entries()) {
      const client = this.client(externalId);
      [client.job, client.index] = [job, index];
    }
  }

  #confirm(job: ImportJob, jobWorkIds: readonly string[], workIds: readonly string[]): void {
    if (jobWorkIds.length !== job.clients.length || workIds.length !== job.clients.length)
      throw new Error("expected a work for each client of the job");
    [job.jobWorkIds, job.workIds, job.isDoubted] = [jobWorkIds, workIds, false];
  }

  #start(job: ImportJob): void {
    for (const client of this.#openClients(job)) this.#settle(client, "imported", undefined);
    this.jobs.delete(job.number);
    // What its clients still refer to is small.
    [job.clients, job.attached] = [[], new Set()];
  }

  #release(job: ImportJob): void {
    for (const client of this.#openClients(job)) client.job = undefined;
    [job.clients, job.isDoubted] = [[], false];
  }

  #abandon(job: ImportJob): void {
    for (const client of this.#openClients(job)) {
      client.job = undefined;
      if (client.mode === "new") client.mode = job.mode === "new" ? "doubt" : job.mode;
    }
    this.jobs.delete(job.number);
  }

  #openClients(job: ImportJob): readonly ClientState[] {
    return job.clients
      .map((externalId) => this.client(externalId))
      .filter((client) => client.status === "open" && client.job === job);
  }

  #settle(client: ClientState, status: ClientStatus, error: WorkspaceTasksError | undefined): void {
    if (client.status !== "open") throw new Error("expected a client that is open, got one that is settled");
    this.counts.open -= 1;
    this.counts[status] += 1;
    [client.status, client.error, client.before] = [status, error, !this.#isReplayed];
    client.uploads = undefined;
  }
}

/** What is known of the external ids of the job's works when they are sent again. */
export function modeOf({ mode, isDoubted }: ImportJob): WorkMode {
  return mode === "new" && isDoubted ? "doubt" : mode;
}

/** The external id under which a client's work is sent. */
export function workExternalId(externalId: string, { mode, id }: ImportJob): string {
  return mode === "derived" ? `${externalId}~${id.slice(-8)}` : externalId;
}
