import { operationDocuments } from "../../generated/operation-documents.ts";
import { from, group, type Probe, type Template } from "./probe.ts";

const list = operationDocuments.ListWebhookEndpoints.text;
const page = "me.workspace.webhookEndpoints";

const listWith = (sends: string, variables: Readonly<Record<string, Template>>) => ({
  sends,
  request: { document: list, variables },
});

export const webhookProbes: readonly Probe[] = [
  ...group(
    "catalog",
    { permission: "read", router: "base", token: "none" },
    {
      public: {
        sends: "the event catalog without a token",
        request: { document: operationDocuments.WebhookEventCatalog.text },
      },
    },
  ),
  ...group(
    "endpoints",
    { permission: "read", router: "base", token: "admin" },
    {
      list: listWith("a list of endpoints", {}),
      "limit-0": listWith("a list with limit 0", { limit: 0 }),
      "limit-101": listWith("a list with limit 101", { limit: 101 }),
      "bad-iterator": listWith("a list with an iterator that was never issued", {
        iterator: "not-an-iterator",
      }),
      "limit-100": listWith("a list with limit 100", { limit: 100 }),
      "page-1": listWith("a page with one endpoint", { limit: 1 }),
      "page-2": {
        ...listWith("the page after it", {
          limit: 1,
          iterator: from("endpoints.page-1", `${page}.iterator`),
        }),
        absent: "the workspace has fewer than two webhook endpoints",
      },
      again: listWith("a list with limit 100 again", { limit: 100 }),
      "no-token": { ...listWith("a list without a token", {}), token: "none" },
      "read-only": { ...listWith("a list with a read-only key", {}), token: "readOnly" },
    },
  ),
];
