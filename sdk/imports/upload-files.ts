import { nodeModule } from "@workspace-tasks/kernel/node-module.ts";
import type { Redactor } from "../call/redactor.ts";
import { isWorkspaceTasksError, WorkspaceTasksError } from "../errors.ts";
import type { ArtifactInput } from "../operations/works.ts";
import type { UploadBody } from "../uploads/upload-source.ts";
import type { UploadOptions } from "../uploads/uploads.ts";
import { call, forEach, type ImportContext } from "./import-context.ts";
import { type CheckedClient, type ImportFileArtifact, method } from "./import-input.ts";

/** A client whose files are uploaded. */
export interface ReadyClient extends Omit<CheckedClient, "artifacts"> {
  readonly artifacts: readonly ArtifactInput[];
}
export type ReadyClients = ReadonlyMap<string, ReadyClient>;

// Whatever the client's own deadline is.
const uploadDeadlineMs = 3_600_000;

/** Uploads the files of clients, before anything refers to them. Clients with a broken file are failed and left out. */
export async function uploadFiles(
  context: ImportContext,
  clients: ReadonlyMap<string, CheckedClient>,
): Promise<ReadyClients> {
  const urls = new Map<ImportFileArtifact, string>();
  const files = [...clients].flatMap(([externalId, { artifacts }]) =>
    artifacts.flatMap((artifact) => ("file" in artifact ? [{ externalId, artifact }] : [])),
  );
  const { state } = context.ledger;
  await forEach(context, files, async ({ externalId, artifact }) => {
    const upload = () => uploadFile(context, externalId, artifact);
    const settled = await call(context, upload, { repeatsDoubt: true });
    if (settled.ok) urls.set(artifact, settled.value);
    else state.fail(externalId, settled.error);
  });
  const attachable = (artifact: CheckedClient["artifacts"][number]): ArtifactInput => {
    if (!("file" in artifact)) return artifact;
    const { file: _, mimeType: __, sizeBytes: ___, ...rest } = artifact;
    return { ...rest, url: urls.get(artifact) };
  };
  return new Map(
    [...clients]
      .filter(([externalId]) => state.client(externalId).status === "open")
      .map(([id, client]) => [id, { ...client, artifacts: client.artifacts.map(attachable) }]),
  );
}

/** @returns the URL of the upload. One that was begun before is continued, unless the service has lost it. */
async function uploadFile(
  { ledger, operations, signal, uploaded, redactor }: ImportContext,
  client: string,
  { externalId, name, mimeType, file, sizeBytes }: ImportFileArtifact,
): Promise<string> {
  let sent = 0;
  const upload = async (resumeUrl: string | undefined) => {
    const opened = await openFile(file, sizeBytes, redactor);
    const onProgress: UploadOptions["onProgress"] = async ({ uploadUrl, sentBytes }) => {
      uploaded(sentBytes - sent);
      sent = sentBytes;
      const known = ledger.state.client(client).uploads?.get(externalId);
      if (uploadUrl !== known) await ledger.record(["upload", client, externalId, uploadUrl]);
    };
    const given = { fileName: name, mimeType, signal, resumeUrl, sizeBytes: opened.sizeBytes };
    const options = { ...given, onProgress, deadlineMs: uploadDeadlineMs };
    try {
      return (await operations.uploads.upload(opened.body, options)).uploadUrl;
    } catch (error) {
      throw isWorkspaceTasksError(error, "ON_PROGRESS_FAILED") ? error.cause : error;
    }
  };
  const resumeUrl = ledger.state.client(client).uploads?.get(externalId);
  try {
    return await upload(resumeUrl);
  } catch (error) {
    const isLost =
      isWorkspaceTasksError(error, "UPLOAD_LOST") || isWorkspaceTasksError(error, "ARGUMENT_INVALID");
    if (resumeUrl === undefined || !isLost) throw error;
    return upload(undefined);
  }
}

async function openFile(
  file: ImportFileArtifact["file"],
  sizeBytes: number | undefined,
  redactor: Redactor,
): Promise<{ readonly body: UploadBody; readonly sizeBytes: number | undefined }> {
  try {
    if (typeof file === "function") return { body: await file(), sizeBytes };
    const handle = await nodeModule("node:fs/promises").open(file);
    const body = handle.createReadStream();
    const { size } = await handle.stat().catch((error: unknown) => {
      body.destroy();
      throw error;
    });
    return { body, sizeBytes: size || undefined };
  } catch (error) {
    const cause = redactor.cause(error);
    throw new WorkspaceTasksError("UPLOAD_BODY_INVALID", `${method}: a file could not be opened`, { cause });
  }
}
