import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Passes a new temporary folder to `use` and deletes it afterwards. */
export async function withFolder(use: (folder: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "workspace-tasks-"));
  try {
    await use(folder);
  } finally {
    await rm(folder, { recursive: true });
  }
}
