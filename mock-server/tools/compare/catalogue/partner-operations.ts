// Nothing is created: the record that a mutation refers to does not exist, or its document is only validated.

import { call, type Draft, type OperationName, shared } from "../rules/probe.ts";
import { hasErrors, outcomeOf, rejectedHere } from "../rules/read-response.ts";
import { isNotAccepted, rejections, rejectionsKeeping, withPermission } from "../rules/rejection.ts";
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
    ["A-21"],
    (responses) => (hasErrors(responses.own) ? rejectedHere(responses.own) : outcomeOf(responses.other)),
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

const createWorks = call("CreateJobWorks", { connectionJobId: unknownId, inputs: [work] });
const createArtifacts = call("CreateJobWorkArtifacts", {
  jobWorkId: unknownId,
  inputs: [{ ...work, type: "w2" }],
});
const collect = call("CollectProviderConnection", { connectionId: unknownId });
const startImport = call("InitiateTaxPrepsImport", { connectionJobId: unknownId });
const triggerTaxPrep = call("TriggerTaxPrep", { input: { clientId: unknownId, returnType: "F1040" } });
const createJob = call("CreateConnectionJob", job);
const addUsers = call("AddUsersToTheWorkspace", users);
const jobWithoutToken: Draft = { ...createJob, token: "none" };
const jobReadOnly: Draft = { ...createJob, token: "readOnly" };
const usersReadOnly: Draft = { ...addUsers, token: "readOnly" };

/** The interface says that they fail, and not how. */
const failing = rejectionsKeeping(isNotAccepted, [
  ["partner.collect-unknown", "collecting an unknown connection is rejected", collect, "A-13"],
  ["partner.job-unknown", "a job on an unknown connection is rejected", createJob, "A-14"],
  ["partner.works-unknown", "works for an unknown job are rejected", createWorks, "A-14"],
]);

const ofUnknown = rejections([
  ["partner.artifacts-unknown", "artifacts for an unknown work are rejected", createArtifacts, "A-26"],
  ["partner.import-unknown", "the import of an unknown job is rejected", startImport, "A-15"],
  ["partner.users-unknown", "adding no users to an unknown workspace is rejected", addUsers, "A-24"],
  ["clients.documents-unknown", "documents for an unknown client are rejected", documentsOfUnknown, "A-34"],
  ["clients.tax-prep-unknown", "a TAX_PREP task for an unknown client is rejected", triggerTaxPrep, "A-34"],
]);

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
  ...[...failing, ...ofUnknown].map((each) => withPermission(documentsOfUnknown, each)),
  ...rejections([
    ["partner.job-no-token", "a partner operation without a token is rejected", jobWithoutToken, "A-4"],
    [
      "partner.job-read-only",
      "a partner operation with a read-only key is rejected",
      jobReadOnly,
      "A-4",
      "A-19",
    ],
    ["partner.users-read-only", "adding users with a read-only key is rejected", usersReadOnly, "A-24"],
  ]),
];
