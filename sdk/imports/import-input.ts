import * as s from "@workspace-tasks/kernel/schema.ts";
import { isWorkspaceTasksError, WorkspaceTasksError } from "../errors.ts";
import type { JobWorkInput } from "../operations/jobs.ts";
import type { ArtifactInput } from "../operations/works.ts";
import type { UploadBody } from "../uploads/upload-source.ts";
import { checkInput } from "../validation/check-input.ts";

/** A document that the service fetches from a URL. */
export interface ImportUrlArtifact extends ArtifactInput {
  readonly url: string;
}

/** A document that is uploaded, and attached by the URL of its upload. */
export interface ImportFileArtifact extends Omit<ArtifactInput, "url"> {
  /** The path of a file, or a function that opens the document from its beginning; it is called again for a retry. */
  readonly file: string | (() => UploadBody | Promise<UploadBody>);
  /** For example `application/pdf`. */
  readonly mimeType: string;
  /** Length of a stream, if it is known. A file at a path has its own. */
  readonly sizeBytes?: number | undefined;
}

/** A client's tax preparation to import. Fields that the interface does not show are passed on. @see interface §4 */
export interface ImportClient extends JobWorkInput {
  /** Its documents. Each `externalId` is unique among them. */
  readonly artifacts?: readonly (ImportUrlArtifact | ImportFileArtifact)[] | undefined;
}

/** A client of the input, checked. */
export interface CheckedClient {
  readonly externalId: string;
  readonly work: JobWorkInput;
  readonly artifacts: readonly (ImportUrlArtifact | ImportFileArtifact)[];
}

export const method = "partner.imports.start";

const identified = s.looseObject({ externalId: s.nonEmptyString });
const artifact = {
  name: s.nonBlankString,
  type: s.string,
  externalId: s.nonEmptyString,
  metadata: s.anything,
};
const urlArtifact = s.looseObject({ ...artifact, url: s.nonEmptyString });
const fileArtifact = s.looseObject({
  ...artifact,
  file: s.refine<ImportFileArtifact["file"]>(
    "a path or a function",
    (file) => typeof file === "function" || (typeof file === "string" && file !== ""),
  ),
  mimeType: s.nonBlankString,
  sizeBytes: s.optional(s.integerBetween(1, Number.MAX_SAFE_INTEGER)),
});

const artifacts: s.Schema<CheckedClient["artifacts"]> = (value, path) => {
  const checked = s.array((each, at) => {
    const { file } = s.object(each, at) as { file?: unknown };
    return file === undefined ? urlArtifact(each, at) : fileArtifact(each, at);
  })(value, path);
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
  const { externalId } = checkInput(`${method}: clients.${position}`, identified, value);
  try {
    const { artifacts, ...work } = checkInput(`${method}: clients.${position}`, clientInput, value);
    return { externalId, work: work as unknown as JobWorkInput, artifacts };
  } catch (error) {
    if (isWorkspaceTasksError(error)) return { externalId, error };
    throw error;
  }
}

export const repeatedClient = () =>
  new WorkspaceTasksError(
    "ARGUMENT_INVALID",
    `${method}: expected each externalId once, got it again; for a second work of a client use another externalId`,
  );

export const missingClient = () =>
  new WorkspaceTasksError(
    "ARGUMENT_INVALID",
    `${method}: the journal has begun this client, and the input does not have it; call again with it`,
  );
