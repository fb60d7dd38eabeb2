import { builtFolder, readPage } from "@workspace-tasks/kernel/built-page.ts";
import { nodeProblem } from "@workspace-tasks/kernel/version.ts";
import { invalidOption } from "./checks.ts";
import { createMock, type MockServer, type Platform } from "./create-mock.ts";
import { createHandler } from "./http/router.ts";
import { createHttpTransport } from "./node/http-transport.ts";
import { listenHttp } from "./node/listener.ts";
import { nodeHashing } from "./node/platform.ts";
import type { MockServerOptions } from "./server-options.ts";

/**
 * Starts a mock of the whole service. Guide: `docs/mock-server.md` in the package.
 *
 * @example examples/mock-server.test.ts#in-process
 * ```ts
 * it("a client calls the mock in its process, without a port", async () => {
 *   await using mock = await createMockServer({ listen: false });
 *   const { apiKey, baseUrl, fetch } = mock;
 *   await using client = createClient({ apiKey, baseUrl, fetch });
 *   expect((await client.me()).__typename).toBe("WorkspaceUser");
 * });
 * ```
 *
 * @throws MockServerError CONFIGURATION_INVALID for a wrong option, VERSION_MISMATCH; Error with code EADDRINUSE for a port in use
 */
export async function createMockServer(options: MockServerOptions = {}): Promise<MockServer> {
  const problem = nodeProblem();
  if (problem) throw invalidOption("createMockServer", "", problem);
  return createMock(options, nodePlatform);
}

const nodePlatform: Platform = {
  hashing: nodeHashing,
  pageFiles: () => readPage(builtFolder("@workspace-tasks/mock-server", "inspector", import.meta.url)),
  createTransport: ({ trustedCertificates, deliverOnly }) =>
    createHttpTransport({ trustedCertificates, loopbackOnly: deliverOnly === "loopback" }),
  async listen(service, options) {
    const { listen = true, host = "127.0.0.1", port = 0, hostsAllowed = [], originsAllowed = [] } = options;
    if (!listen) return null;
    const handler = createHandler(service);
    return listenHttp({ service, handler, host, port, hostsAllowed, originsAllowed });
  },
};
