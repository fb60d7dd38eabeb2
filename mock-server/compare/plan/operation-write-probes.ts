import { operationDocuments } from "../../generated/operation-documents.ts";
import { unknownId } from "./list-probes.ts";
import { group, type Probe, type Template } from "./probe.ts";

/** The service validates every operation of a document, and executes the one that is named: this query. */
const checking = (text: string) => ({
  document: `query Check { __typename }\n\n${text}`,
  operationName: "Check",
});

const changing = Object.entries(operationDocuments).filter(
  ([name, { kind }]) => kind === "mutation" && name !== "ExchangeApiKey" && name !== "LoginPartner",
);

/** Documents of mutations, validated by the service and not executed. */
const drift = changing.flatMap(([name, { text, router }]) =>
  group(
    "drift",
    { permission: "write", router, token: "admin" },
    {
      [name]: { sends: `the document of ${name}, without executing it`, request: checking(text) },
    },
  ),
);

const other = { base: "gateway", gateway: "base" } as const;

const routers = (["CreateWebhookEndpoint", "CreateConnectionJob"] as const).flatMap((name) => {
  const { text, router } = operationDocuments[name];
  return group(
    "routers",
    { permission: "write", router: other[router], token: "admin" },
    {
      [name]: {
        sends: `the document of ${name} on the other router, without executing it`,
        request: checking(text),
      },
    },
  );
});

const ofUnknown = (
  name: keyof typeof operationDocuments,
  variables: Readonly<Record<string, Template>>,
  noun: string,
) => ({
  sends: `${name} for an unknown ${noun}`,
  request: { document: operationDocuments[name].text, variables },
});

const work = { name: "workspace-tasks compare", externalId: "workspace-tasks-compare" };

/** Nothing is created: the record that they refer to does not exist. */
const unknowns: readonly Probe[] = [
  ...group(
    "unknown",
    { permission: "write", router: "gateway", token: "admin" },
    {
      collect: ofUnknown("CollectProviderConnection", { connectionId: unknownId }, "connection"),
      job: ofUnknown("CreateConnectionJob", { connectionId: unknownId, jobName: work.name }, "connection"),
      works: ofUnknown("CreateJobWorks", { connectionJobId: unknownId, inputs: [work] }, "job"),
      artifacts: ofUnknown(
        "CreateJobWorkArtifacts",
        { jobWorkId: unknownId, inputs: [{ ...work, type: "w2" }] },
        "work",
      ),
      import: ofUnknown("InitiateTaxPrepsImport", { connectionJobId: unknownId }, "job"),
      // The list is empty, so that no service can add anyone.
      users: ofUnknown("AddUsersToTheWorkspace", { workspaceId: unknownId, userEmails: [] }, "workspace"),
      "users-read-only": {
        ...ofUnknown(
          "AddUsersToTheWorkspace",
          { workspaceId: unknownId, userEmails: [] },
          "workspace, with a read-only key",
        ),
        token: "readOnly",
      },
      "no-token": {
        ...ofUnknown(
          "CreateConnectionJob",
          { connectionId: unknownId, jobName: work.name },
          "connection, without a token",
        ),
        token: "none",
      },
      "read-only": {
        ...ofUnknown(
          "CreateConnectionJob",
          { connectionId: unknownId, jobName: work.name },
          "connection, with a read-only key",
        ),
        token: "readOnly",
      },
    },
  ),
  ...group(
    "unknown-client",
    { permission: "write", router: "base", token: "admin" },
    {
      documents: ofUnknown(
        "AddClientDocuments",
        { input: { clientId: unknownId, uploadIds: [unknownId] } },
        "client",
      ),
      "tax-prep": ofUnknown(
        "TriggerTaxPrep",
        { input: { clientId: unknownId, returnType: "F1040" } },
        "client",
      ),
    },
  ),
];

export const operationWriteProbes: readonly Probe[] = [...drift, ...routers, ...unknowns];
