import { mkdtemp, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { createReceiver, memoryInbox, silentLogger } from "@workspace-tasks/receiver-kit";
import type { inboxPage } from "@workspace-tasks/receiver-kit/page";
import { build } from "esbuild";
import { expect, it } from "vitest";
import { secretA } from "../../support/signed-delivery.ts";

const contents = `
  export { createReceiver, memoryInbox, silentLogger } from "@workspace-tasks/receiver-kit";
  export { inboxPage } from "@workspace-tasks/receiver-kit/page";`;

interface Bundle {
  readonly createReceiver: typeof createReceiver;
  readonly memoryInbox: typeof memoryInbox;
  readonly silentLogger: typeof silentLogger;
  readonly inboxPage: typeof inboxPage;
}

it("the page of the inbox is in a bundle that has no package beside it", async () => {
  const folder = await mkdtemp(join(tmpdir(), "bundled-page-"));
  try {
    const outfile = join(folder, "bundle.cjs");
    const stdin = { contents, resolveDir: import.meta.dirname };
    const logLevel = "silent"; // about import.meta, which CommonJS has not
    await build({ stdin, outfile, bundle: true, platform: "node", format: "cjs", logLevel });
    const kit: Bundle = createRequire(import.meta.url)(outfile);
    const options = { secrets: [secretA], inbox: kit.memoryInbox(), logger: kit.silentLogger };
    const page = kit.inboxPage(kit.createReceiver(options), { authorize: () => true });
    const get = (path: string) => page.fetch(new Request(`http://receiver.test/inbox/${path}`));
    const [script] = /assets\/[^"]+\.js/.exec(await (await get("")).text()) ?? [];
    expect(script).toBeDefined();
    expect((await get(`${script}`)).status).toBe(200);
  } finally {
    await rm(folder, { recursive: true });
  }
});
