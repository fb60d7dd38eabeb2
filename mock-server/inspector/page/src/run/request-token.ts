import type { RecordedRequest } from "../api-types.ts";
import { control } from "../state/resource.ts";

/** A new token like the one that a request was sent with; `null` for none, and for a key that is revoked or deleted. */
export async function tokenLike({
  caller,
  keyId,
}: Pick<RecordedRequest, "caller" | "keyId">): Promise<string | null> {
  if (keyId === null) return null;
  try {
    if (caller === "partner") return (await control.createPartnerToken({ keyId })).accessToken;
    const { userToken, workspaceToken } = await control.createTokens({ keyId });
    return caller === "user" ? userToken : workspaceToken;
  } catch {
    return null;
  }
}
