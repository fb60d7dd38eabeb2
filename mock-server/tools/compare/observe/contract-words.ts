// What is known to be harmless by its type: names of the contract, and fields that hold words of the service.

import { eventCatalog } from "@workspace-tasks/events/catalog";
import { routerSchema } from "@workspace-tasks/mock-server/parts";
import { isEnumType, isInputObjectType, isInterfaceType, isObjectType } from "graphql";

/** Fields with text from an open set of the service's own words, such as a status. They never hold client data. */
export const wordFields: ReadonlySet<string> = new Set([
  "Workspace.status",
  "Workspace.workspaceType",
  "WorkspaceShortDetails.status",
  "WebhookEndpoint.eventTypes",
  "WebhookEventType.name",
  "WebhookEventType.version",
  "WebhookEventType.status",
  "WebhookEventType.taskTypes",
  "Task.type",
  "SubTask.type",
  "Client.status",
  "Client.returnType",
  "TaskTaxPrepResult.returnType",
  "TaskUnknownResult.taskType",
  "ProviderConnection.status",
  "ProviderConnection.action",
  "ConnectionJob.status",
  "AddedUser.role",
]);

/** A word of the service's own: an identifier such as `tax-extraction`, `F1040` or `task.running`. */
export const isWord = (text: string): boolean =>
  /^[A-Za-z][A-Za-z0-9]{0,24}([._-][A-Za-z0-9]{1,24}){0,4}$/.test(text) &&
  !/[0-9a-f]{8}-[0-9a-f]{4}-/i.test(text);

let names: ReadonlySet<string> | undefined;

/** Names of types, fields, arguments and enum values of the contract. */
export function contractNames(): ReadonlySet<string> {
  names ??= new Set((["base", "gateway"] as const).flatMap(namesOfRouter));
  return names;
}

function namesOfRouter(router: "base" | "gateway"): readonly string[] {
  const types = Object.values(routerSchema(router).getTypeMap());
  return types.flatMap((type) => {
    if (isEnumType(type)) return [type.name, ...type.getValues().map(({ name }) => name)];
    if (!isObjectType(type) && !isInterfaceType(type) && !isInputObjectType(type)) return [type.name];
    const names = [type.name, ...Object.keys(type.getFields())];
    if (isInputObjectType(type)) return names;
    const fields = Object.values(type.getFields());
    return [...names, ...fields.flatMap(({ args }) => args.map(({ name }) => name))];
  });
}

export const eventNames: ReadonlySet<string> = new Set(eventCatalog.map(({ name }) => name));

let words: ReadonlySet<string> | undefined;

/** The words that names of the contract consist of, in lower case. */
export function contractWords(): ReadonlySet<string> {
  words ??= new Set(
    [...contractNames()]
      .flatMap((name) => name.match(/[A-Z]?[a-z]+/g) ?? [])
      .map((word) => word.toLowerCase()),
  );
  return words;
}
