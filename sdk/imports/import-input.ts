import * as s from "@workspace-tasks/kernel/schema.ts";
import type { Redactor } from "../call/redactor.ts";
import type { Engine } from "../engine/engine.ts";
import { isWorkspaceTasksError, WorkspaceTasksError } from "../errors.ts";
import {
  type ArtifactInput,
  artifactFields,
  type Jobs,
  type JobWorkInput,
  type Works,
} from "../operations/jobs.ts";
import type { Tasks } from "../operations/tasks.ts";
import type { TaxClients } from "../operations/tax-clients.ts";
import type { Me } from "../operations/workspaces.ts";
import type { CallOptions, ResolvedOptions } from "../options.ts";
import type { UploadBody } from "../uploads/upload-source.ts";
import type { Uploads } from "../uploads/uploads.ts";
import { checkInput } from "../validation.ts";
import type { ClientStatus } from "./import-state.ts";
import type { ImportJournal } from "./journal/import-journal.ts";

export interface ImportOptions {
  /** A connection that is `active`. */
  readonly connectionId: string;
  /** Name of the connection's first job; the others are called `jobName (2)` and so on. */
  readonly jobName: string;
  /** Read once, as far as there is room for them. A call that continues an import has those that it had begun, in any order. */
  readonly clients: Iterable<ImportClient> | AsyncIterable<ImportClient>;
  /** `fileJournal`, `postgresJournal`, or your own; one for each connection, for all of its imports. */
  readonly journal: ImportJournal;
  /**
   * What to do with a client that was imported before and has new or changed documents. `report` (the default): nothing; it
   * is `changed` in the result. `import`: a second work with all of its documents, under an external id of its own. `accept`:
   * the service has them, because you have looked, and added what was missing; nothing is sent, and the client is `unchanged`
   * from now on, also one whose documents were not known.
   *
   * @see interface §4
   */
  readonly onChanged?: "report" | "import" | "accept" | undefined;
  /** Most works of a job, 1 to 1,000. Default 100. */
  readonly worksPerJob?: number | undefined;
  /** Most calls and uploads in flight, 1 to 64. Default 8. */
  readonly concurrency?: number | undefined;
  /**
   * Called with the latest progress. A promise that it returns is awaited before the next call; a failure, or one that takes
   * longer than 30 s, ends the import with `ON_PROGRESS_FAILED`.
   */
  readonly onProgress?: ((progress: ImportProgress) => unknown) | undefined;
  /** Ends this process's part of the import. */
  readonly signal?: AbortSignal | undefined;
}

/** A document that the service fetches from a URL. */
export interface ImportUrlArtifact extends ArtifactInput {
  readonly url: string;
  /** Changes with the document, as an ETag does. Default: the URL, which a signature in it makes another one each time. */
  readonly version?: string | undefined;
}

/** A document that is uploaded, and attached by the URL of its upload. */
export interface ImportFileArtifact extends Omit<ArtifactInput, "url"> {
  /**
   * The path of a file, or a function that opens the document from its beginning; it is called for each time that the document
   * is read. One that is not read within an hour is `UPLOAD_BODY_INVALID`.
   */
  readonly file: string | (() => UploadBody | Promise<UploadBody>);
  /** For example `application/pdf`. */
  readonly mimeType: string;
  /** Length of a stream, if it is known. A file at a path has its own. */
  readonly sizeBytes?: number | undefined;
  /** Changes with the document, as an ETag or a time does. Default: what it contains, which is read each time. */
  readonly version?: string | undefined;
}

/** A client's tax preparation to import. Fields that the interface does not show are passed on. @see interface §4 */
export interface ImportClient extends JobWorkInput {
  /** Its documents. Each `externalId` is unique among them. */
  readonly artifacts?: readonly ImportArtifact[] | undefined;
}

export type ImportArtifact = ImportUrlArtifact | ImportFileArtifact;

/** How many clients of an import have which status. `open`: read, and not settled yet. */
export type ImportCounts = Readonly<Record<ClientStatus | "open", number>>;

export interface ImportProgress {
  /** The counts of the clients that were read. */
  readonly counts: ImportCounts;
  /** Bytes of files that the service confirmed in this process. */
  readonly uploadedBytes: number;
}

/** What an import uses of its client. */
export interface ImportParts extends Pick<ResolvedOptions, "clock" | "random" | "longDeadlineMs"> {
  readonly engine: Engine;
  readonly redactor: Redactor;
  readonly jobs: Jobs;
  readonly works: Works;
  readonly uploads: Uploads;
  readonly taxClients: TaxClients;
  readonly tasks: Tasks;
  me(call: CallOptions): Promise<Me>;
}

export const method = "partner.imports.start";

/** The checks of `ImportOptions`, with its defaults. */
export const importOptions = s.strictOptions<ImportOptions>()({
  connectionId: s.nonEmptyString,
  jobName: s.nonBlankString,
  clients: s.refine<ImportOptions["clients"]>(
    "an iterable of clients",
    (value) =>
      typeof value === "object" &&
      value !== null &&
      [Symbol.iterator, Symbol.asyncIterator].some((name) => typeof Reflect.get(value, name) === "function"),
  ),
  journal: s.objectWith<ImportJournal>("a journal with open", "open"),
  onChanged: s.withDefault(s.oneOf("report", "import", "accept"), "report"),
  worksPerJob: s.withDefault(s.integerBetween(1, 1_000), 100),
  concurrency: s.withDefault(s.integerBetween(1, 64), 8),
  onProgress: s.optional(s.functionOf<(progress: ImportProgress) => unknown>()),
  signal: s.optional(s.abortSignal),
});

export type CheckedOptions = ReturnType<typeof importOptions>;

/** A client of the input, checked. */
export interface CheckedClient {
  readonly externalId: string;
  readonly work: JobWorkInput;
  readonly artifacts: readonly ImportArtifact[];
}
/** By external id. */
export type CheckedClients = ReadonlyMap<string, CheckedClient>;

const identified = s.looseObject({ externalId: s.nonEmptyString });
const version = s.optional(s.nonEmptyString);
const urlArtifact = s.looseObject({ ...artifactFields, url: s.nonEmptyString, version });
const fileArtifact = s.looseObject({
  ...artifactFields,
  url: s.refine<null | undefined>("a file or a url, not both", (url) => url === undefined || url === null),
  name: s.nonBlankString,
  file: s.refine<ImportFileArtifact["file"]>(
    "a path or a function",
    (file) => typeof file === "function" || (typeof file === "string" && file !== ""),
  ),
  mimeType: s.nonBlankString,
  version,
});

const artifact: s.Schema<ImportArtifact> = (value, path) =>
  "file" in s.object(value, path)
    ? (fileArtifact(value, path) as ImportFileArtifact)
    : urlArtifact(value, path);
const artifacts: s.Schema<readonly ImportArtifact[]> = (value, path) => {
  const checked = s.array(artifact)(value, path);
  if (new Set(checked.map(({ externalId }) => externalId)).size === checked.length) return checked;
  throw new s.ValidationError(path, "expected an externalId of its own for each artifact, got one twice");
};
const clientInput = s.looseObject({ name: s.nonBlankString, artifacts: s.withDefault(artifacts, []) });

/**
 * The client, or its external id and what is wrong with the rest of it. Throws `ARGUMENT_INVALID` for one without an external
 * id.
 *
 * @param position in the input, from 0
 */
export function checkClient(
  value: unknown,
  position: number,
): CheckedClient | { readonly externalId: string; readonly error: WorkspaceTasksError } {
  const place = `${method}: clients.${position}`;
  const { externalId } = checkInput(place, identified, value);
  try {
    const { artifacts, ...work } = checkInput(place, clientInput, value);
    return { externalId, work: { ...work, externalId }, artifacts };
  } catch (error) {
    if (isWorkspaceTasksError(error)) return { externalId, error };
    throw error;
  }
}

export const inputError = (message: string) =>
  new WorkspaceTasksError("ARGUMENT_INVALID", `${method}: ${message}`);
