import { nodeModule } from "@workspace-tasks/kernel/node-module.ts";
import { isWorkspaceTasksError, WorkspaceTasksError } from "../errors.ts";
import type { ArtifactInput } from "../operations/works.ts";
import type { UploadBody } from "../uploads/upload-source.ts";
import type { UploadProgress } from "../uploads/uploads.ts";
import { type CheckedClient, type ImportFileArtifact, method } from "./import-input.ts";
import type { ImportRun } from "./import-run.ts";

/** Clients whose files are uploaded. */
export type ReadyClients = ReadonlyMap<
  string,
  Omit<CheckedClient, "artifacts"> & { readonly artifacts: readonly ArtifactInput[] }
>;

// Whatever the client's own deadline is.
const uploadDeadlineMs = 3_600_000;

/** Uploads the files of clients, before anything refers to them. Clients with a broken file are failed and left out. */
export async function uploadFiles(
  run: ImportRun,
  clients: ReadonlyMap<string, CheckedClient>,
): Promise<ReadyClients> {
  run.enter("uploading");
  const urls = new Map<CheckedClient["artifacts"][number], string>();
  const files = [...clients].flatMap(([externalId, { artifacts }]) =>
    artifacts.flatMap((artifact) => ("file" in artifact ? [{ externalId, artifact }] : [])),
  );
  await run.forEach(files, async ({ externalId, artifact }) => {
    const settled = await run.call(() => uploadFile(run, externalId, artifact));
    if (settled.ok) urls.set(artifact, settled.value);
    else run.state.fail(externalId, settled.error);
  });
  const attachable = (artifact: CheckedClient["artifacts"][number]): ArtifactInput => {
    if (!("file" in artifact)) return artifact;
    const { file: _, mimeType: __, sizeBytes: ___, ...rest } = artifact;
    return { ...rest, url: urls.get(artifact) };
  };
  return new Map(
    [...clients]
      .filter(([externalId]) => run.state.client(externalId).status === "open")
      .map(([id, client]) => [id, { ...client, artifacts: client.artifacts.map(attachable) }]),
  );
}

/** @returns the URL of the upload. One that was begun before is continued, unless the service has lost it. */
async function uploadFile(run: ImportRun, client: string, artifact: ImportFileArtifact): Promise<string> {
  const { externalId, name, mimeType } = artifact;
  const known = () => run.state.client(client).uploads?.get(externalId);
  let sent = 0;
  const onProgress = async ({ uploadUrl, sentBytes }: UploadProgress) => {
    run.uploaded(sentBytes - sent);
    sent = sentBytes;
    if (uploadUrl !== known()) await run.record(["upload", client, externalId, uploadUrl]);
  };
  const upload = async (resumeUrl: string | undefined) => {
    const { body, sizeBytes } = await openFile(run, artifact);
    const options = { fileName: name, mimeType, sizeBytes, resumeUrl, signal: run.signal };
    return run.parts.uploads.upload(body, { ...options, onProgress, deadlineMs: uploadDeadlineMs });
  };
  const isLost = (error: unknown) =>
    isWorkspaceTasksError(error, "UPLOAD_LOST") || isWorkspaceTasksError(error, "ARGUMENT_INVALID");
  const resumeUrl = known();
  try {
    const resumed = upload(resumeUrl);
    const { uploadUrl } = await resumed.catch((error: unknown) => {
      if (resumeUrl === undefined || !isLost(error)) throw error;
      return upload(undefined);
    });
    return uploadUrl;
  } catch (error) {
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
