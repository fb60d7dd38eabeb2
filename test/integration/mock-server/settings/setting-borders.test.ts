// The settings that docs/mock-limits.md describes as limits: at the limit the mock accepts, one more it rejects as described.

import { createMockServer, isMockServerError, type MockServer } from "@workspace-tasks/mock-server";
import { describe, expect, it } from "vitest";
import { defaultSettings, type SettingsChanges } from "../../../../mock-server/settings/settings.ts";
import { jsonPost, workspaceToken } from "../../../support/mock-client.ts";

interface Border {
  readonly setting: string;
  readonly limit: number;
  /** The status or code of what is one past the limit. */
  readonly past: string;
  /** Uses as much as `amount`; resolves with the status or code of the last response, "200" when it was accepted. */
  use(mock: MockServer, amount: number): Promise<string>;
}

const times = async (count: number, use: (index: number) => Promise<string>) => {
  let last = "none";
  for (let index = 0; index < count; index++) last = await use(index);
  return last;
};

async function post(mock: MockServer, body: string, token?: string): Promise<string> {
  const response = await mock.fetch("/graphql", jsonPost(body, token));
  const { errors } = (await response.json()) as { errors?: { extensions: { code: string } }[] };
  return response.status === 200 ? (errors?.[0]?.extensions.code ?? "200") : String(response.status);
}

const query = async (mock: MockServer, text: string, variables?: object) =>
  post(mock, JSON.stringify({ query: text, variables }), await workspaceToken(mock));

/** `"200"`, or the code of the error of a call to the control API. */
async function outcome(call: Promise<unknown>): Promise<string> {
  try {
    await call;
    return "200";
  } catch (error) {
    if (isMockServerError(error)) return error.code;
    throw error;
  }
}

const rotate = (mock: MockServer, endpointId: string, gracePeriodSeconds: number) =>
  query(
    mock,
    `mutation ($input: RotateWebhookEndpointSecretInput!) { rotateWebhookEndpointSecret(input: $input) { signingSecret } }`,
    { input: { endpointId, gracePeriodSeconds } },
  );

async function upload(mock: MockServer, bytes: number): Promise<string> {
  const response = await mock.fetch("/api/uploads", {
    method: "POST",
    headers: {
      "tus-resumable": "1.0.0",
      authorization: `Bearer ${await workspaceToken(mock)}`,
      "upload-length": String(bytes),
      "content-type": "application/offset+octet-stream",
    },
    body: "x".repeat(bytes),
  });
  return response.ok ? "200" : String(response.status);
}

const endpointUrl = "https://receiver.example/hook";

const borders: readonly Border[] = [
  {
    setting: "rateLimit.requests",
    limit: 3,
    past: "429",
    use: (mock, amount) => times(amount, () => query(mock, "{ __typename }")),
  },
  {
    setting: "bounds.bodyBytesMax",
    limit: 100,
    past: "413",
    use: (mock, amount) => post(mock, JSON.stringify({ query: "{ __typename }" }).padEnd(amount)),
  },
  {
    setting: "bounds.listItemsMax",
    limit: 7,
    past: "BAD_USER_INPUT",
    use: (mock, amount) =>
      query(mock, `{ me { ... on WorkspaceUser { workspace { tasks(limit: ${amount}) { id } } } } }`),
  },
  {
    setting: "bounds.endpointPageItemsMax",
    limit: 7,
    past: "BAD_USER_INPUT",
    use: (mock, amount) =>
      query(
        mock,
        `{ me { ... on WorkspaceUser { workspace { webhookEndpoints(limit: ${amount}) { data { id } } } } } }`,
      ),
  },
  {
    setting: "bounds.tasksMax",
    limit: 2,
    past: "CONFLICT",
    use: (mock, amount) => times(amount, () => outcome(mock.control.startTask({ taskType: "BINDER" }))),
  },
  {
    setting: "bounds.secretGraceSecondsMax",
    limit: 60,
    past: "BAD_USER_INPUT",
    async use(mock, amount) {
      const { id } = await mock.control.createEndpoint({ url: endpointUrl });
      return rotate(mock, id, amount);
    },
  },
  { setting: "bounds.uploadBytesMax", limit: 20, past: "413", use: upload },
];

/** Past these, something is dropped: the numbers that are kept. */
const keeps = [
  {
    setting: "bounds.journalEntriesMax",
    limit: 3,
    async kept(mock: MockServer, amount: number) {
      for (let index = 0; index < amount; index++) await query(mock, "{ __typename }");
      return (await mock.control.listRequests()).data.length;
    },
  },
  {
    setting: "bounds.deliveriesMax",
    limit: 3,
    async kept(mock: MockServer, amount: number) {
      await mock.control.createEndpoint({ url: endpointUrl });
      const event = { name: "documents.synced", payload: {} };
      for (let index = 0; index < amount; index++) await mock.control.sendEvent(event);
      return (await mock.control.listDeliveries()).data.length;
    },
  },
];

const changeOf = (setting: string, value: number): SettingsChanges => {
  const [group = "", name = ""] = setting.split(".");
  return { [group]: { [name]: value } };
};

const startMock = (setting: string, limit: number) =>
  createMockServer({
    listen: false,
    clock: "virtual",
    deliverOnly: "loopback",
    settings: changeOf(setting, limit),
  });

describe("a limit of the mock's settings", () => {
  it.each(borders)(
    "$setting accepts its limit, and past it gives $past",
    async ({ setting, limit, past, use }) => {
      await using at = await startMock(setting, limit);
      expect(await use(at, limit)).toBe("200");
      await using beyond = await startMock(setting, limit);
      expect(await use(beyond, limit + 1)).toBe(past);
    },
  );

  it.each(keeps)("$setting keeps as many as its limit, and no more", async ({ setting, limit, kept }) => {
    await using at = await startMock(setting, limit);
    expect(await kept(at, limit)).toBe(limit);
    await using beyond = await startMock(setting, limit);
    expect(await kept(beyond, limit + 1)).toBe(limit);
  });

  it("is in one of the tables above, when it is a bound", () => {
    const bounds = Object.keys(defaultSettings.bounds).map((name) => `bounds.${name}`);
    const tested = [...borders, ...keeps].map(({ setting }) => setting);
    expect(bounds.filter((setting) => !tested.includes(setting))).toEqual([]);
  });
});
