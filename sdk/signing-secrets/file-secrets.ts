import * as s from "@workspace-tasks/kernel/schema.ts";
import { sha256 } from "../credentials/sha256.ts";
import { ConfigurationError } from "../errors.ts";
import type { SecretStore } from "./secret-store.ts";

// A process that is killed must not leave a lock. So the change of a text is a link that only one process can make, named
// after that text: it is the whole next text, and whoever finds it can move it into place.

/**
 * Keeps the signing secrets in a file of mode 0600, which is replaced as a whole. Processes that share it need a file
 * system with hard links. Its folder must exist. A process that is killed may leave another file beside it, with the same
 * mode and a name that begins with `path`.
 *
 * @throws {ConfigurationError} without a path, or where there are no files, as in a browser
 */
export function fileSecrets(path: string): SecretStore {
  s.parse(s.nonEmptyString, path, ({ message }) => new ConfigurationError(`fileSecrets: path: ${message}`));
  // Not an import, with which no bundler builds for a browser.
  const fs = globalThis.process?.getBuiltinModule?.("node:fs/promises");
  if (!fs)
    throw new ConfigurationError("fileSecrets: expected a runtime with files; use a store of your own");

  const read = () => fs.readFile(path, "utf8").catch(ignore("ENOENT", null));

  /** Writes the text to `link`, unless that exists. */
  async function writeOnce(link: string, text: string): Promise<boolean> {
    const draft = `${link}.${crypto.randomUUID()}`;
    try {
      await fs?.writeFile(draft, text, { mode: 0o600, flag: "wx", flush: true });
      await fs?.link(draft, link);
      return true;
    } catch (error) {
      return ignore("EEXIST", false)(error);
    } finally {
      await fs?.rm(draft, { force: true });
    }
  }

  return {
    read,
    async write(next, previous) {
      const link = `${path}.${sha256(String(previous)).slice(0, 16)}`;
      const isOwn = (await read()) === previous && (await writeOnce(link, next));
      const current = await read();
      // Only the link moves the file on from `previous`, so nothing else has replaced it meanwhile.
      if (current === previous) await fs.rename(link, path).catch(ignore("ENOENT", undefined));
      else if (isOwn) await fs.rm(link, { force: true });
      return isOwn && (current === previous || current === next);
    },
  };
}

/** Returns `value` for an error of this code, and throws any other. */
const ignore =
  <Value>(code: string, value: Value) =>
  (error: unknown): Value => {
    if ((error as { readonly code?: unknown }).code === code) return value;
    throw error;
  };
