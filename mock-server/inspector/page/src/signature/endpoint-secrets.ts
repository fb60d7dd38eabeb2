import type { ControlApi } from "../../../../control/control-api.ts";
import type { Secret } from "./signature.ts";

/** @param endpointId `null`: any endpoint may have signed. One that was deleted has no secrets. */
export async function readEndpointSecrets(
  endpointId: string | null,
  control: Pick<ControlApi, "listEndpoints" | "getEndpoint">,
): Promise<readonly Secret[]> {
  const { data } = await control.listEndpoints();
  const asked = data.filter(({ id }) => endpointId === null || id === endpointId);
  const endpoints = await Promise.all(asked.map(({ id }) => control.getEndpoint(id)));
  return endpoints.flatMap(({ url, secrets }) =>
    secrets.map(({ secret, state }, index) => ({ label: `secret ${index + 1} of ${url}`, secret, state })),
  );
}
