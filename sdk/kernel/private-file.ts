// Files of ours have data of clients and secrets. What another user of the machine has prepared under their name is that user's to
// read and change, whatever its mode says later.

export interface FileOwner {
  readonly uid: number;
  readonly mode: number;
}

/**
 * Whether a file that is there already may be used: one of another user is `foreign`; one that all users may read or write, as a
 * restored backup is, is `open`. What a group may do is left to the owner. Root may use the files of others that only they can
 * write: an operator looks at what a service has.
 */
export function privacyOf(file: FileOwner): "private" | "open" | "foreign" {
  const user = process.getuid?.();
  // Windows has no such modes.
  if (user === undefined) return "private";
  const isOwn = file.uid === user || file.uid === 0;
  if (!isOwn && (user !== 0 || (file.mode & 0o022) !== 0)) return "foreign";
  return (file.mode & 0o007) === 0 ? "private" : "open";
}

/** Says that a file was open to all users; called after that was changed. */
export function warnOfOpenFile(path: string): void {
  process.emitWarning(
    `${JSON.stringify(path)} was open to all users of this machine; now its owner alone can use it`,
    { code: "WORKSPACE_TASKS_FILE_OPEN" },
  );
}

/** Why a foreign file is not used, with what to do. */
export const foreignFile = (path: string, { uid }: FileOwner): string =>
  `${JSON.stringify(path)} belongs to another user (${uid}); give it to the user of this process (chown), or use another path`;
