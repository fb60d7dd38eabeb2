import { nodeModule } from "@workspace-tasks/kernel/node-module.ts";
import { isWorkspaceTasksError, WorkspaceTasksError } from "../errors.ts";
import type { ArtifactInput } from "../operations/works.ts";
import type { UploadBody } from "../uploads/upload-source.ts";
import type { UploadProgress } from "../uploads/uploads.ts";
import { type CheckedClients, type ImportArtifact, type ImportFileArtifact, method } from "./import-input.ts";
import type { ImportRun } from "./import-run.ts";

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
export function attachable(artifact: ImportArtifact, uploads?: ReadonlyMap<string, string>): ArtifactInput {
  if (!("file" in artifact)) return artifact;
  const { file: _, mimeType: __, sizeBytes: ___, ...rest } = artifact;
  return { ...rest, url: uploads?.get(artifact.externalId) };
}

/** Notes the URL of the upload. One that was begun before is continued, unless the service has lost it. */
async function uploadFile(run: ImportRun, client: string, artifact: ImportFileArtifact): Promise<void> {
  const { externalId, name, mimeType } = artifact;
  const begun = () => run.state.client(client).uploads?.get(externalId);
  let sent = 0;
  const onProgress = async ({ uploadUrl, sentBytes }: UploadProgress) => {
    run.uploaded(sentBytes - sent);
    sent = sentBytes;
    if (uploadUrl !== begun()) await run.record(["upload", client, externalId, uploadUrl]);
  };
  const upload = async (resumeUrl: string | undefined) => {
    const { body, sizeBytes } = await openFile(run, artifact);
    const options = { fileName: name, mimeType, sizeBytes, resumeUrl, signal: run.signal };
    await run.parts.uploads.upload(body, { ...options, onProgress, deadlineMs: uploadDeadlineMs });
  };
  const isLost = (error: unknown) =>
    isWorkspaceTasksError(error, "UPLOAD_LOST") || isWorkspaceTasksError(error, "ARGUMENT_INVALID");
  try {
    const resumeUrl = begun();
    await upload(resumeUrl).catch((error: unknown) => {
      if (resumeUrl === undefined || !isLost(error)) throw error;
      return upload(undefined);
    });
  } catch (error) {
    // Of the journal.
    throw isWorkspaceTasksError(error, "ON_PROGRESS_FAILED") ? error.cause : error;
  }
}

async function openFile(
  { parts: { redactor } }: ImportRun,
  { file, sizeBytes }: ImportFileArtifact,
): Promise<{ readonly body: UploadBody; readonly sizeBytes: number | undefined }> {
  try {
    if (typeof file === "function") return { body: await file(), sizeBytes };
    const { open, stat } = nodeModule("node:fs/promises");
    const { size } = await stat(file);
    return { body: (await open(file)).createReadStream(), sizeBytes: size || undefined };
  } catch (error) {
    const cause = redactor.cause(error);
    throw new WorkspaceTasksError("UPLOAD_BODY_INVALID", `${method}: a file could not be opened`, { cause });
  }
}
