import { nodeModule } from "@workspace-tasks/kernel/node-module.ts";
import { isWorkspaceTasksError, WorkspaceTasksError } from "../errors.ts";
import type { ArtifactInput } from "../operations/works.ts";
import type { UploadBody } from "../uploads/upload-source.ts";
import type { UploadProgress } from "../uploads/uploads.ts";
import { type CheckedClients, type ImportArtifact, type ImportFileArtifact, method } from "./import-input.ts";
import type { ImportRun } from "./import-run.ts";
import type { ClientState } from "./import-state.ts";

// Whatever the client's own deadline is.
const uploadDeadlineMs = 3_600_000;

/** Uploads the files of clients, before anything refers to them. @returns the clients, without those of a broken file */
export async function uploadFiles(run: ImportRun, clients: CheckedClients): Promise<CheckedClients> {
  run.enter("uploading");
  const files = [...clients].flatMap(([client, { artifacts }]) =>
    artifacts.flatMap((artifact) => ("file" in artifact ? [{ client, artifact }] : [])),
  );
  await run.forEach(files, async ({ client, artifact }) => {
    const settled = await run.call(() => uploadFile(run, client, artifact));
    if (!settled.ok) run.state.fail(client, settled.error);
  });
  return new Map([...clients].filter(([client]) => run.state.client(client).status === "open"));
}

/** The artifact as it is attached: a file by the URL of its upload. */
export function attachable(artifact: ImportArtifact, uploads: ClientState["uploads"]): ArtifactInput {
  if (!("file" in artifact)) return artifact;
  const { file: _, mimeType: __, sizeBytes: ___, ...rest } = artifact;
  return { ...rest, url: uploads?.get(artifact.externalId)?.url };
}

/** Notes the URL of the upload. One of the same file that was begun before is continued, unless the service has lost it. */
async function uploadFile(run: ImportRun, client: string, artifact: ImportFileArtifact): Promise<void> {
  const { externalId, name, mimeType } = artifact;
  const begun = () => run.state.client(client).uploads?.get(externalId);
  let sent = 0;
  const upload = async ({ body, sizeBytes, version }: OpenFile, resumeUrl: string | undefined) => {
    const onProgress = async ({ uploadUrl, sentBytes }: UploadProgress) => {
      run.uploaded(sentBytes - sent);
      sent = sentBytes;
      if (uploadUrl !== begun()?.url) await run.record(["upload", client, externalId, uploadUrl, version]);
    };
    const options = { fileName: name, mimeType, sizeBytes, resumeUrl, signal: run.signal };
    await run.parts.uploads.upload(body, { ...options, onProgress, deadlineMs: uploadDeadlineMs });
  };
  try {
    const file = await openFile(run, artifact);
    const resumeUrl = begun()?.version === file.version ? begun()?.url : undefined;
    await upload(file, resumeUrl).catch(async (error: unknown) => {
      if (resumeUrl === undefined || !cannotContinue(error)) throw error;
      await upload(await openFile(run, artifact), undefined);
    });
  } catch (error) {
    // Of the journal.
    throw isWorkspaceTasksError(error, "ON_PROGRESS_FAILED") ? error.cause : error;
  }
}

/** The service has lost the upload, or the document has another length now. */
const cannotContinue = (error: unknown) =>
  isWorkspaceTasksError(error) &&
  ["UPLOAD_LOST", "ARGUMENT_INVALID", "UPLOAD_BODY_INVALID"].includes(error.code);

interface OpenFile {
  readonly body: UploadBody;
  readonly sizeBytes: number | undefined;
  /** Of a file at a path. */
  readonly version: string;
}

async function openFile(
  { scope, parts: { redactor } }: ImportRun,
  { file, sizeBytes }: ImportFileArtifact,
): Promise<OpenFile> {
  try {
    // It may throw, or never settle.
    if (typeof file === "function")
      return { body: await scope.race((async () => file())()), sizeBytes, version: "" };
    const { open, stat } = nodeModule("node:fs/promises");
    const { size, mtimeMs } = await stat(file);
    const version = `${size}-${mtimeMs}`;
    return { body: (await open(file)).createReadStream(), sizeBytes: size || undefined, version };
  } catch (error) {
    const cause = redactor.cause(error);
    throw new WorkspaceTasksError("UPLOAD_BODY_INVALID", `${method}: a file could not be opened`, { cause });
  }
}
