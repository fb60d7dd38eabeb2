// Mocks with functions that fail.

import { createMockServer } from "@workspace-tasks/mock-server";
import { callGraphql, startConnection, workspaceToken } from "../../support/mock-client.ts";
import { hostile, printOutcomes } from "./hostile-functions.ts";

const never = (ms: number) => new Promise<string>((resolve) => void setTimeout(() => resolve("pending"), ms));
const url = "https://receiver.test/webhooks";

await printOutcomes({
  async override() {
    await using mock = await createMockServer({ listen: false });
    mock.override("me", hostile);
    const token = await workspaceToken(mock);
    const call = callGraphql(mock, "{ me { __typename } }", { token }).then(
      () => "data",
      ({ message }) =>
        /override \S+ of me: |expected the function to return/.test(message) ? "errors" : message,
    );
    return await Promise.race([call, never(200)]);
  },
  async checkConnection() {
    await using mock = await createMockServer({ listen: false, checkConnection: hostile });
    const id = await startConnection(mock);
    const call = callGraphql(
      mock,
      "mutation ($id: ID!) { collectProviderConnection(connectionId: $id) { status } }",
      { token: await workspaceToken(mock), router: "gateway", variables: { id } },
    ).then(
      ({ collectProviderConnection }) => collectProviderConnection.status,
      ({ message }) => (/INTERNAL_SERVER_ERROR/.test(message) ? "errors" : message),
    );
    return await Promise.race([call, never(200)]);
  },
  async receivers() {
    await using mock = await createMockServer({
      listen: false,
      clock: "virtual",
      receivers: new Map([[url, hostile]]),
      settings: { delivery: { timeoutMs: 50 } },
    });
    await mock.control.createEndpoint({ url });
    await mock.control.startTask({ taskType: "TAX_PREP" });
    await mock.clock.advance(120_000);
    const { data } = await mock.control.listDeliveries({});
    const [failed] = data.filter(({ attemptCount, lastError }) => attemptCount > 0 && lastError !== null);
    return failed ? "failed attempts" : data;
  },
  async subscribe() {
    await using mock = await createMockServer({ listen: false });
    const seen: string[] = [];
    mock.subscribe(hostile);
    mock.subscribe(({ type }) => seen.push(type));
    await mock.control.startTask({ taskType: "TAX_PREP" });
    return seen.length > 0 ? "other listeners called" : "nothing";
  },
});
