import { builtFolder, readPage } from "@workspace-tasks/kernel/built-page.ts";

/**
 * The build of the page, by path; nothing where it is not built. The package has this module with the texts of the files, and
 * not the files: bundlers and programs that copy what an application imports would leave those behind.
 */
export const readPageFiles = (): ReadonlyMap<string, Uint8Array<ArrayBuffer>> =>
  readPage(builtFolder("@workspace-tasks/receiver-kit", "page", import.meta.url));
