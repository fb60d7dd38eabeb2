// The documents of a client: are they those that it was imported with, and what is uploaded of them? A fingerprint tells: a
// key for each, which is made of what it contains, or of its version.

import { toBase64Url, utf8 } from "@workspace-tasks/kernel/bytes.ts";
import { builtInModule, nodeModule } from "@workspace-tasks/kernel/node-module.ts";
import { Hash } from "fast-sha256";
import type { CallScope } from "../call/call-scope.ts";
import { FailureError, failure } from "../call/failure.ts";
import { isWorkspaceTasksError, WorkspaceTasksError } from "../errors.ts";
import type { ArtifactInput } from "../operations/jobs.ts";
import { createUploadSource, type UploadBody, type UploadSource } from "../uploads/upload-source.ts";
import type { UploadProgress } from "../uploads/uploads.ts";
import { type CheckedClient, type ImportArtifact, type ImportFileArtifact, method } from "./import-input.ts";
import type { ImportRun } from "./import-run.ts";

// Whatever the client's own deadline is.
const uploadDeadlineMs = 3_600_000;
// A file that is never read to its end would hold the import, and its journal, without an end.
const readLimitMs = 3_600_000;
const bytesAtOnce = 1_000_000;

const addThem =
  'add missing documents with taxClients.addDocuments, and call with this client alone and onChanged: "accept"';

/** A client whose files are uploaded. */
export interface ReadyClient {
  readonly client: CheckedClient;
  /** The fingerprint of its documents. */
  readonly documents: string;
  readonly inputs: readonly ArtifactInput[];
}

/** Settles clients that have failed. `document`: the external id of the one that it is about. */
export type FailClients = (
  externalIds: readonly string[],
  error: WorkspaceTasksError,
  document?: string,
) => Promise<void>;

/** Uploads the files of clients, before anything refers to them. @returns the clients, without those of a broken file */
export async function uploadDocuments(
  run: ImportRun,
  clients: readonly CheckedClient[],
  fail: FailClients,
): Promise<ReadonlyMap<string, ReadyClient>> {
  const keys = new Map<ImportArtifact, string>();
  const all = clients.flatMap((client) => client.artifacts.map((artifact) => ({ client, artifact })));
  await run.forEach(all.values(), run.callsPerJob, async ({ client: { externalId }, artifact }) => {
    if (run.state.client(externalId).status) return;
    const settled = await run.call(async () => {
      const key = await keyOf(run, artifact);
      if ("file" in artifact) await upload(run, externalId, artifact, key);
      keys.set(artifact, key);
    });
    if (!settled.ok) await fail([externalId], settled.error, artifact.externalId);
  });
  const ready = new Map<string, ReadyClient>();
  for (const client of clients) {
    const { externalId, artifacts } = client;
    const { status, uploads } = run.state.client(externalId);
    if (status) continue;
    const known = artifacts.map((artifact) => keys.get(artifact) ?? "");
    const inputs = artifacts.map((artifact, index) =>
      attachable(artifact, urlOf(uploads, known[index] ?? "")),
    );
    ready.set(externalId, { client, documents: known.join(" "), inputs });
  }
  return ready;
}

/** Settles a client that was imported, by this call or one before. @returns whether it gets a second work instead */
export async function settleKnown(
  run: ImportRun,
  { externalId, artifacts }: CheckedClient,
  status: "imported" | "unchanged",
): Promise<boolean> {
  const known = run.state.client(externalId).documents?.split(" ");
  const isAccepted = status === "unchanged" && run.options.onChanged === "accept";
  if (known === undefined && artifacts.length > 0 && !isAccepted) {
    run.doubt(
      externalId,
      `it was imported, and whether with its documents is not known; look at its task, and ${addThem}`,
    );
    return false;
  }
  const changed: string[] = [];
  const keys = [...(known ?? [])];
  for (const artifact of artifacts) {
    try {
      const key = await keyOf(run, artifact);
      if (keys.includes(key)) continue;
      keys.push(key);
      changed.push(`"${artifact.externalId}"`);
    } catch (error) {
      if (!isWorkspaceTasksError(error)) throw error;
      // A document that cannot be read is no matter of the others.
      run.settle(externalId, "undecided", error, artifact.externalId);
      return false;
    }
  }
  if (changed.length > 0 && isAccepted) await run.record(["documents", externalId, keys.join(" ")]);
  if (changed.length === 0 || isAccepted) run.state.settle(externalId, status);
  else if (status === "unchanged" && run.options.onChanged === "import") {
    await run.record(["next", "derived", [externalId]]);
    return true;
  } else {
    const what = `documents that are new or have changed since it was imported were not sent: ${changed.join(", ")}`;
    const message = `${what}; call with onChanged: "import" for a second work, or ${addThem}`;
    run.settle(externalId, "changed", { code: "IMPORT_CHANGED", message });
  }
  return false;
}

/** The document as it is attached: a file by the URL of its upload. */
function attachable(artifact: ImportArtifact, url: string | undefined): ArtifactInput {
  if (!("file" in artifact)) {
    const { version: _, ...rest } = artifact;
    return rest;
  }
  const { file: _, mimeType: __, sizeBytes: ___, version: ____, ...rest } = artifact;
  return { ...rest, url };
}

const urlOf = (uploads: string | undefined, key: string) =>
  uploads
    ?.split("\n")
    .find((line) => line.startsWith(`${key} `))
    ?.slice(key.length + 1);

async function keyOf(run: ImportRun, artifact: ImportArtifact): Promise<string> {
  const { version } = artifact;
  const described = attachable(artifact, undefined);
  const hash = builtInModule("node:crypto")?.createHash("sha256") ?? new Hash();
  hash.update(utf8(JSON.stringify(version === undefined ? described : { ...described, url: version })));
  if ("file" in artifact && version === undefined) {
    const source = createUploadSource((await openFile(run, artifact)).body);
    // The upload says what is wrong with another kind of body.
    if (source) await readWithin(run, (scope) => readAll(source, scope, hash)).finally(source.release);
  }
  return toBase64Url(hash.digest().subarray(0, 9));
}

interface Digest {
  update(bytes: Uint8Array): unknown;
}

async function readAll(source: UploadSource, scope: CallScope, hash: Digest): Promise<void> {
  for (let offset = 0, isLast = false; !isLast; ) {
    const chunk = await scope.race(source.chunkAt(offset, bytesAtOnce));
    hash.update(chunk?.bytes ?? new Uint8Array());
    offset += chunk?.bytes.byteLength ?? 0;
    isLast = chunk?.last ?? true;
    // A body that never waits would leave no time for anything else.
    if (!isLast) await scope.sleep(0);
  }
}

/** Notes the URL of the upload. One of the same document that was begun before is continued, unless the service has lost it. */
async function upload(
  run: ImportRun,
  externalId: string,
  artifact: ImportFileArtifact,
  key: string,
): Promise<void> {
  const { name: fileName, mimeType } = artifact;
  const { signal } = run;
  const begun = () => urlOf(run.state.client(externalId).uploads, key);
  let sent = 0;
  const onProgress = async ({ uploadUrl, sentBytes }: UploadProgress) => {
    run.uploaded(sentBytes - sent);
    sent = sentBytes;
    if (uploadUrl !== begun()) await run.record(["upload", externalId, key, uploadUrl]);
  };
  const send = async (resumeUrl: string | undefined) => {
    const { body, sizeBytes } = await openFile(run, artifact);
    const options = { fileName, mimeType, sizeBytes, resumeUrl, signal, onProgress };
    await run.parts.uploads.upload(body, { ...options, deadlineMs: uploadDeadlineMs });
  };
  const resumeUrl = begun();
  try {
    await send(resumeUrl).catch((error: unknown) => {
      if (resumeUrl === undefined || !cannotContinue(error)) throw error;
      return send(undefined);
    });
  } catch (error) {
    // The cause is an error of the journal.
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
}

async function openFile(run: ImportRun, { file, sizeBytes }: ImportFileArtifact): Promise<OpenFile> {
  if (typeof file === "function") {
    const body = await readWithin(run, () => file());
    if (isStream(body) && openedStreams.has(body)) {
      const got = "got one that returned the same stream again, which can be read once";
      const message = `${method}: file: expected a function that opens the document at each call, ${got}`;
      throw new WorkspaceTasksError("UPLOAD_BODY_INVALID", message);
    }
    if (isStream(body)) openedStreams.add(body);
    return { body, sizeBytes };
  }
  const { size } = await readWithin(run, () => nodeModule("node:fs/promises").stat(file));
  return { body: nodeModule("node:fs").createReadStream(file), sizeBytes: size || undefined };
}

const openedStreams = new WeakSet<object>();

/** A web stream, a generator or a stream of Node. */
const isStream = (body: unknown): body is object =>
  Object(body) === body && ["getReader", "next", "pipe"].some((name) => name in Object(body));

/** Reads of a document. It may throw, or never settle: that is the failure of this document, after a time. */
async function readWithin<Value>(
  run: ImportRun,
  read: (scope: CallScope) => Value | PromiseLike<Value>,
): Promise<Value> {
  const onLimit = (limitMs: number) =>
    failure("UPLOAD_BODY_INVALID", `it took longer than ${limitMs} ms`, { outcome: "not_sent" });
  try {
    return await run.scope.within({ limitMs: readLimitMs, onLimit }, read);
  } catch (error) {
    if (run.scope.failure) throw error;
    const { code } = Object(error) as { readonly code?: unknown };
    const reason = error instanceof FailureError ? error.failure.message : code;
    const shown = typeof reason === "string" ? ` (${reason})` : "";
    const message = `${method}: the file could not be read${shown}`;
    throw new WorkspaceTasksError("UPLOAD_BODY_INVALID", message, { cause: run.parts.redactor.cause(error) });
  }
}
