import type { NewWorld, WorldView } from "./world-routes.ts";

/** The name of the mock's own world; it has no prefix and cannot be dropped. */
export const mainWorld = "main";

/** The worlds of a mock by name. */
export interface WorldDirectory {
  /** @throws MockServerError CONFLICT for a name in use, or past 2,000 worlds */
  create(input: NewWorld): Promise<WorldView>;
  list(): WorldView[];
  /** @throws MockServerError NOT_FOUND; CONFLICT for the mock's own world */
  drop(name: string): void;
}
