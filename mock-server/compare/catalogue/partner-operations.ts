// Nothing is created: the record that a mutation refers to does not exist, or its document is only validated.

import { call, type Draft, type OperationName, shared } from "../rules/probe.ts";
import { hasErrors, outcomeOf, rejectedHere } from "../rules/read-response.ts";
import { rejected, withPermission } from "../rules/rejection.ts";
import { type Rule, ruleOver } from "../rules/rule.ts";
import { checkedDocument } from "./documents.ts";
import { unknownId } from "./lists.ts";

const otherRouter = { base: "gateway", gateway: "base" } as const;

const onOtherRouter = (id: string, title: string, name: OperationName): Rule => {
  const own = checkedDocument(name);
  const other: Draft = { ...own, id, router: otherRouter[own.router] };
  return ruleOver(
    id,
    title,
    { own, other },
    // A service may take no document with several operations, wherever it is sent.
    (responses) => (hasErrors(responses.own) ? rejectedHere(responses.own) : outcomeOf(responses.other)),
    ["A-21"],
  );
};

const work = { name: "workspace-tasks compare", externalId: "workspace-tasks-compare" };
const job = { connectionId: unknownId, jobName: work.name };
// The list is empty, so that no service can add anyone.
const users = { workspaceId: unknownId, userEmails: [] };

/** Any member may do it with a read_write key. */
export const documentsOfUnknown = shared(
  "clients.documents-unknown",
  call("AddClientDocuments", { input: { clientId: unknownId, uploadIds: [unknownId] } }),
);

const ofUnknown: readonly Rule[] = [
  rejected(
    "partner.collect-unknown",
    "collecting an unknown connection is rejected",
    call("CollectProviderConnection", { connectionId: unknownId }),
    ["A-13"],
  ),
  rejected(
    "partner.job-unknown",
    "a job on an unknown connection is rejected",
    call("CreateConnectionJob", job),
    ["A-14"],
  ),
  rejected(
    "partner.works-unknown",
    "works for an unknown job are rejected",
    call("CreateJobWorks", { connectionJobId: unknownId, inputs: [work] }),
    ["A-14"],
  ),
  rejected(
    "partner.artifacts-unknown",
    "artifacts for an unknown work are rejected",
    call("CreateJobWorkArtifacts", { jobWorkId: unknownId, inputs: [{ ...work, type: "w2" }] }),
    ["A-26"],
  ),
  rejected(
    "partner.import-unknown",
    "the import of an unknown job is rejected",
    call("InitiateTaxPrepsImport", { connectionJobId: unknownId }),
    ["A-15"],
  ),
  rejected(
    "partner.users-unknown",
    "adding no users to an unknown workspace is rejected",
    call("AddUsersToTheWorkspace", users),
    ["A-24"],
  ),
  rejected("clients.documents-unknown", "documents for an unknown client are rejected", documentsOfUnknown),
  rejected(
    "clients.tax-prep-unknown",
    "a TAX_PREP task for an unknown client is rejected",
    call("TriggerTaxPrep", { input: { clientId: unknownId, returnType: "F1040" } }),
  ),
];

export const partnerRules: readonly Rule[] = [
  onOtherRouter(
    "routers.webhooks-on-gateway",
    "webhook operations do not exist on the gateway",
    "CreateWebhookEndpoint",
  ),
  onOtherRouter(
    "routers.partner-on-base",
    "partner operations do not exist on the base router",
    "CreateConnectionJob",
  ),
  ...ofUnknown.map((each) => withPermission(documentsOfUnknown, each)),
  rejected(
    "partner.job-no-token",
    "a partner operation without a token is rejected",
    call("CreateConnectionJob", job, { token: "none" }),
    ["A-4"],
  ),
  rejected(
    "partner.job-read-only",
    "a partner operation with a read-only key is rejected",
    call("CreateConnectionJob", job, { token: "readOnly" }),
    ["A-4"],
  ),
  rejected(
    "partner.users-read-only",
    "adding users with a read-only key is rejected",
    call("AddUsersToTheWorkspace", users, { token: "readOnly" }),
    ["A-24"],
  ),
];
