import { expect, it } from "vitest";
import { createMockServer } from "workspace-tasks/mock-server";
import { readEndpointSecrets } from "../../../../../../mock-server/inspector/page/src/signature/endpoint-secrets.ts";

it("readEndpointSecrets fetches the secrets of the endpoint that is asked for, and of no other one", async () => {
  await using mock = await createMockServer({ listen: false });
  const { control } = mock;
  const first = await control.createEndpoint({ url: "https://first.example/hooks" });
  const second = await control.createEndpoint({ url: "https://second.example/hooks" });
  const fetched: string[] = [];
  const counting = {
    listEndpoints: () => control.listEndpoints(),
    getEndpoint: (id: string) => {
      fetched.push(id);
      return control.getEndpoint(id);
    },
  };
  const secretsOf = async (id: string | null) =>
    (await readEndpointSecrets(id, counting)).map(({ secret }) => secret);
  expect(await secretsOf(second.id)).toEqual([second.signingSecret]);
  expect(fetched.splice(0)).toEqual([second.id]);
  expect(await secretsOf("deleted")).toEqual([]);
  expect(fetched).toEqual([]);
  expect(await secretsOf(null)).toEqual([first.signingSecret, second.signingSecret]);
});
