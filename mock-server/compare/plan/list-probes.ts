import { operationDocuments } from "../../generated/operation-documents.ts";
import { from, group, type Probe, type Template } from "./probe.ts";

const workspace = (selection: string) =>
  `{ me { __typename ... on WorkspaceUser { workspace { ${selection} } } } }`;

const tasksWith = (sends: string, variables: Readonly<Record<string, Template>>) => ({
  sends,
  request: { document: operationDocuments.ListTasks.text, variables },
});

const clientsWith = (sends: string, variables: Readonly<Record<string, Template>>) => ({
  sends,
  request: { document: operationDocuments.ListClients.text, variables },
});

const firstTask = "me.workspace.tasks.0.id";
const firstClient = "me.workspace.clients.0.id";

/** A UUID of version 7 that no service issues: its time is that of the year 1970. */
export const unknownId = "00000000-0000-7000-8000-00000000c0de";

export const listProbes: readonly Probe[] = [
  ...group(
    "tasks",
    { permission: "read", router: "base", token: "reader" },
    {
      list: tasksWith("the newest tasks", { limit: 20 }),
      second: tasksWith("tasks with offset 1 and limit 1", { offset: 1, limit: 1 }),
      again: tasksWith("the newest two tasks again", { limit: 2 }),
      default: {
        sends: "a list of tasks without arguments",
        request: { document: workspace("tasks { __typename }") },
      },
      beyond: tasksWith("tasks with an offset past the end", { offset: 1_000_000, limit: 1 }),
      completed: tasksWith("tasks with the filter COMPLETED", {
        limit: 5,
        filters: { statuses: ["COMPLETED"] },
      }),
      "tax-prep": tasksWith("completed tasks of type TAX_PREP", {
        limit: 5,
        filters: { types: ["TAX_PREP"], statuses: ["COMPLETED"] },
      }),
      one: {
        ...tasksWith("a task by its id", { limit: 5, filters: { ids: [from("tasks.list", firstTask)] } }),
        absent: "the workspace has no task",
      },
      unknown: tasksWith("a task by an unknown id", { limit: 5, filters: { ids: [unknownId] } }),
      "limit-0": tasksWith("tasks with limit 0", { limit: 0 }),
      "limit-101": {
        sends: "tasks with limit 101",
        request: { document: workspace("tasks(limit: 101) { __typename }") },
      },
      "limit-1001": {
        sends: "tasks with limit 1001",
        request: { document: workspace("tasks(limit: 1001) { __typename }") },
      },
      "offset-negative": tasksWith("tasks with offset -1", { offset: -1, limit: 1 }),
    },
  ),
  ...group(
    "clients",
    { permission: "read", router: "base", token: "reader" },
    {
      list: clientsWith("the newest clients", { limit: 20 }),
      second: clientsWith("clients with offset 1 and limit 1", { offset: 1, limit: 1 }),
      again: clientsWith("the newest two clients again", { limit: 2 }),
      "limit-0": clientsWith("clients with limit 0", { limit: 0 }),
      "limit-1001": {
        sends: "clients with limit 1001",
        request: { document: workspace("clients(limit: 1001) { __typename }") },
      },
      one: {
        sends: "a client by its id",
        absent: "the workspace has no client",
        request: {
          document: operationDocuments.GetClient.text,
          variables: { id: from("clients.list", firstClient) },
        },
      },
      unknown: {
        sends: "a client by an unknown id",
        request: { document: operationDocuments.GetClient.text, variables: { id: unknownId } },
      },
      tasks: {
        sends: "the tasks of a client",
        absent: "the workspace has no client",
        request: {
          document: operationDocuments.ListClientTasks.text,
          variables: { id: from("clients.list", firstClient), limit: 5 },
        },
      },
    },
  ),
];
