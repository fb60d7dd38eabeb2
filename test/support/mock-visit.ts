import type { MockServer } from "../../mock-server/create-mock.ts";
import type { MockServerOptions } from "../../mock-server/server-options.ts";

/** Calls, a signed delivery, an upload, faults and a named world of a mock, and what it says about them. */
export async function visitMock(
  create: (options: MockServerOptions) => Promise<MockServer>,
): Promise<string> {
  const receiverUrl = "https://receiver.example/webhooks";
  const signatures: (string | null)[] = [];
  const receive = async ({ headers }: Request) => {
    signatures.push(headers.get("webhook-signature"));
    return new Response(null, { status: 204 });
  };
  const receivers = new Map([[receiverUrl, receive]]);
  const mock = await create({ clock: "virtual", listen: false, seed: 5, receivers });
  const call = async (query: string, token = "") => {
    const headers = {
      "content-type": "application/json",
      ...(token && { authorization: `Bearer ${token}` }),
    };
    const response = await mock.fetch("/graphql", {
      method: "POST",
      headers,
      body: JSON.stringify({ query }),
    });
    return response.json() as Promise<{ readonly data: Readonly<Record<string, never>> }>;
  };
  const exchange = "exchangeSurfaceRefreshTokenForAccessTokens";
  const { data } = await call(`mutation { ${exchange}(refreshToken: "${mock.apiKey}") { workspaceToken } }`);
  const { workspaceToken } = data[exchange] as unknown as { readonly workspaceToken: string };
  await mock.control.addFaults({
    deliveries: [{ chances: [{ probability: 0.5, fault: { kind: "drop" } }] }],
  });
  await mock.control.createEndpoint({ url: receiverUrl });
  await mock.control.startTask({ taskType: "TAX_PREP" });
  await mock.clock.advance("2h");
  const upload = await mock.fetch("/api/uploads", {
    method: "POST",
    headers: {
      authorization: `Bearer ${workspaceToken}`,
      "tus-resumable": "1.0.0",
      "upload-length": "3",
      "upload-metadata": "filename w7w=",
      "content-type": "application/offset+octet-stream",
    },
    body: "abc",
  });
  const { apiKey } = await mock.worlds.create({ name: "other" });
  const me = await call("{ me { __typename } }", workspaceToken);
  const snapshot = await mock.control.getSnapshot();
  await mock.close();
  return JSON.stringify({ workspaceToken, signatures, me, status: upload.status, apiKey, snapshot });
}
