import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Passes a new temporary folder to `use` and deletes it afterwards. */
export async function withFolder<Result>(use: (folder: string) => Promise<Result>): Promise<Result> {
  const folder = await mkdtemp(join(tmpdir(), "workspace-tasks-"));
  try {
    return await use(folder);
  } finally {
    await rm(folder, { recursive: true });
  }
}
