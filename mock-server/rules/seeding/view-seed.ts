import type { SeedPlan } from "../../settings/seed-plan.ts";
import type { World } from "../../world/world.ts";
import { findApiKey } from "../identity/api-keys.ts";
import { membershipOf } from "../identity/members.ts";
import { endpointsOf } from "../webhooks/endpoints.ts";
import { findUserByEmail } from "../workspaces/workspaces.ts";
import { findClient, findConnection, findJob, findWorkspace } from "./add-seed.ts";

/**
 * The ids of the records that the plan names, as they are now; one that no longer exists is left out.
 * @param apiKeys keys in plain text, to be shown with their members
 */
export function viewSeed(world: World, { workspaces }: SeedPlan, apiKeys: readonly string[]) {
  const keys = apiKeys.flatMap((apiKey) => {
    const record = findApiKey(world, apiKey);
    return record ? [{ apiKey, record }] : [];
  });
  const views = workspaces.flatMap(({ name, members, clients = [], connections = [], endpoints = [] }) => {
    const workspace = findWorkspace(world, name);
    if (!workspace) return [];
    const { id } = workspace;
    const ownKeys = keys.filter(({ record }) => record.workspaceId === id);
    const emails =
      members?.map(({ email }) => email) ?? ownKeys.map(({ record }) => emailOf(world, record.userId));
    const view = {
      id,
      members: byName(emails, (email) => {
        const user = findUserByEmail(world, email.toLowerCase());
        const membership = user && membershipOf(world, { userId: user.id, workspaceId: id });
        const key = ownKeys.find(({ record }) => record.userId === user?.id);
        return membership
          ? { userId: membership.userId, membershipId: membership.id, apiKey: key?.apiKey ?? null }
          : undefined;
      }),
      clients: byName(names(clients), (client) => idOf(findClient(world, id, client))),
      connections: byName(names(connections), (connectionName) => {
        const connection = findConnection(world, id, connectionName);
        const { jobs = [] } = connections.find((each) => each.name === connectionName) ?? {};
        return (
          connection && {
            id: connection.id,
            jobs: byName(names(jobs), (job) => idOf(findJob(world, connection.id, job))),
          }
        );
      }),
      endpoints: byName(
        endpoints.map(({ url }) => url),
        (url) => {
          const endpoint = endpointsOf(world, id).find((each) => each.url === url);
          return endpoint && { id: endpoint.id, signingSecret: endpoint.secrets[0]?.secret ?? "" };
        },
      ),
    };
    return [[name, view] as const];
  });
  return { workspaces: Object.fromEntries(views) };
}

const names = (items: readonly { readonly name: string }[]) => items.map(({ name }) => name);

const idOf = (record: { readonly id: string } | undefined) => record && { id: record.id };

const emailOf = (world: World, userId: string) => world.state.users.get(userId)?.email ?? "";

function byName<View>(
  keys: readonly string[],
  view: (name: string) => View | undefined,
): Readonly<Record<string, View>> {
  const entries = keys.map((name) => [name, view(name)] as const);
  return Object.fromEntries(entries.filter((entry): entry is [string, View] => entry[1] !== undefined));
}
