import { nodeModule } from "@workspace-tasks/kernel/node-module.ts";
import { foreignFile, privacyOf } from "@workspace-tasks/kernel/private-file.ts";
import * as s from "@workspace-tasks/kernel/schema.ts";
import { sha256 } from "../credentials/sha256.ts";
import { ConfigurationError } from "../errors.ts";
import type { SecretStore } from "./signing-secrets.ts";

// A process that is killed must not leave a lock. So the change of a text is a link that one process alone can make, named
// after that text. It is the whole next text: a process that finds it abandoned moves it into place.

// Of an abandoned link. Others are moved within milliseconds.
const ageMsMin = 1_000;

/**
 * Keeps the signing secrets in a file of mode 0600, which is replaced as a whole; of a link, its target is. Processes that
 * share it need a file system with hard links. Its folder must exist. What a process that is killed leaves beside it has a
 * name that begins with that of the file, and is for its owner alone, too.
 *
 * @throws {ConfigurationError} without a path, or where there are no files, as in a browser
 */
export function fileSecrets(path: string): SecretStore {
  s.parse(s.nonEmptyString, path, ({ message }) => new ConfigurationError(`fileSecrets: path: ${message}`));
  const fs = filesOfRuntime();

  async function read(): Promise<string | null> {
    const found = await fs.stat(path).catch(ignore("ENOENT", null));
    if (found?.isFile() && privacyOf(found) === "foreign") throw new Error(foreignFile(path, found));
    return fs.readFile(path, "utf8").catch(ignore("ENOENT", null));
  }

  /** The file itself, where the path is a link. Another kind of file, such as a device, would be replaced by one. */
  async function fileToReplace(): Promise<string> {
    const target = await fs.realpath(path).catch(ignore("ENOENT", path));
    const found = await fs.stat(target).catch(ignore("ENOENT", null));
    if (found === null || found.isFile()) return target;
    throw new Error(`expected a file, or nothing, at ${path}, got something else`);
  }

  async function isAbandoned(link: string, draft: string): Promise<boolean> {
    // Both times are of the file system's clock.
    const [made, now] = await Promise.all([fs.stat(link).catch(ignore("ENOENT", null)), fs.stat(draft)]);
    return made !== null && now.mtimeMs - made.mtimeMs > ageMsMin;
  }

  return {
    read,
    async write(next, previous) {
      const target = await fileToReplace();
      if ((await read()) !== previous) return false;
      const link = `${target}.${sha256(String(previous)).slice(0, 16)}`;
      const folder = await fs.mkdtemp(`${link}.`);
      const draft = `${folder}/next`;
      try {
        await fs.writeFile(draft, next, { mode: 0o600, flag: "wx", flush: true });
        const isOwn = await fs.link(draft, link).then(() => true, ignore("EEXIST", false));
        if (!isOwn && !(await isAbandoned(link, draft))) return false;
        // Only the link moves the file on from `previous`, so nothing else can replace it now.
        const isCurrent = (await read()) === previous;
        if (isCurrent) await fs.rename(link, target).catch(ignore("ENOENT", undefined));
        else if (isOwn) await fs.rm(link, { force: true });
        return isOwn && isCurrent;
      } finally {
        await fs.rm(folder, { recursive: true });
      }
    },
  };
}

function filesOfRuntime() {
  try {
    return nodeModule("node:fs/promises");
  } catch {
    throw new ConfigurationError("fileSecrets: expected a runtime with files; use a store of your own");
  }
}

/** Returns `value` for an error of this code, and throws any other. */
const ignore =
  <Value>(code: string, value: Value) =>
  (error: unknown): Value => {
    if ((error as { readonly code?: unknown }).code === code) return value;
    throw error;
  };
