import type { TestProject } from "vitest/node";
import { shareServers } from "./shared-servers.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** Where a test file asks for programs, and for the servers that all files share. */
    sharedServers: string;
  }
}

export default async function setup({ provide }: TestProject): Promise<() => Promise<void>> {
  const shared = await shareServers();
  provide("sharedServers", shared.origin);
  return async () => {
    for (const [program, reason] of await shared.missing())
      console.log(`not run: the tests that need ${program}: ${reason}`);
    await shared[Symbol.asyncDispose]();
  };
}
