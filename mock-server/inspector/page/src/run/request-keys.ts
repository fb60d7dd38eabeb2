import type { ApiKeyView, RecordedRequest } from "@workspace-tasks/mock-server/control";
import { shortId } from "@workspace-tasks/page-parts/text.ts";
import { control, worldUrl } from "../state/mock.ts";

export type Router = RecordedRequest["router"];

export const routerOptions = [
  { value: "base", text: "workspace API" },
  { value: "gateway", text: "partner gateway" },
];

export const nameOfKey = ({ id, role, access, revokedAt }: ApiKeyView): string =>
  `${revokedAt === null ? (role ?? "former member") : "revoked"}, ${access}, ${shortId(id)}`;

/**
 * A new token of an API key or partner key.
 * @param keyId `null`: the mock's own key for the router
 * @throws MockServerError for a key that is revoked or deleted
 */
export async function newToken(
  router: Router,
  keyId: string | null,
  caller?: RecordedRequest["caller"],
): Promise<string> {
  const { data: partners } = await control.listPartnerKeys();
  const partner =
    keyId === null ? router === "gateway" && partners[0] : partners.find(({ id }) => id === keyId);
  if (partner) return (await control.createPartnerToken({ keyId: partner.id })).accessToken;
  const { userToken, workspaceToken } = await control.createTokens(keyId === null ? {} : { keyId });
  return caller === "user" ? userToken : workspaceToken;
}

/** An HTTP request with an operation, as a client sends it. */
export const graphqlRequest = (router: Router, token: string | null, query: string, variables?: unknown) => ({
  url: `${worldUrl}${router === "gateway" ? "/gateway" : ""}/graphql`,
  headers: { "content-type": "application/json", ...(token && { authorization: `Bearer ${token}` }) },
  body: JSON.stringify({ query, ...(variables ? { variables } : {}) }),
});
