import { didYouMean } from "@workspace-tasks/kernel/did-you-mean.ts";
import type { World } from "../world/world.ts";
import { redactText } from "./documents/redaction.ts";

/** Why no request can have this API key or partner key, if none can. */
export function describeUnknownKey({ state }: World, keyId: string): string | undefined {
  if (state.apiKeys.has(keyId) || state.partnerKeys.has(keyId)) return undefined;
  const ids = [...state.apiKeys.keys(), ...state.partnerKeys.keys()];
  const hint = didYouMean(keyId, ids) || "; listApiKeys and listPartnerKeys have the ids";
  // A key in place of its id.
  return `unknown key ${redactText(keyId)}${hint}`;
}

/** Why no token can be of this workspace, if none can. */
export function describeUnknownWorkspace({ state }: World, workspaceId: string): string | undefined {
  if (state.workspaces.has(workspaceId)) return undefined;
  const hint = didYouMean(workspaceId, [...state.workspaces.keys()]) || "; listWorkspaces has the ids";
  return `unknown workspace ${redactText(workspaceId)}${hint}`;
}
