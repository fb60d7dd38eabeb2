// The documents under `operations/`, made ready to be sent.

import { defineOperation } from "../engine/operation.ts";
import * as documents from "../generated/operations.ts";

export const operations = {
  me: defineOperation("Me", documents.MeDocument),
  webhookEventCatalog: defineOperation("WebhookEventCatalog", documents.WebhookEventCatalogDocument),
  listWebhookEndpoints: defineOperation("ListWebhookEndpoints", documents.ListWebhookEndpointsDocument),
  createWebhookEndpoint: defineOperation("CreateWebhookEndpoint", documents.CreateWebhookEndpointDocument),
  updateWebhookEndpoint: defineOperation("UpdateWebhookEndpoint", documents.UpdateWebhookEndpointDocument),
  deleteWebhookEndpoint: defineOperation("DeleteWebhookEndpoint", documents.DeleteWebhookEndpointDocument),
  rotateWebhookEndpointSecret: defineOperation(
    "RotateWebhookEndpointSecret",
    documents.RotateWebhookEndpointSecretDocument,
  ),
  listTasks: defineOperation("ListTasks", documents.ListTasksDocument),
  listClients: defineOperation("ListClients", documents.ListClientsDocument),
  getClient: defineOperation("GetClient", documents.GetClientDocument),
  listClientTasks: defineOperation("ListClientTasks", documents.ListClientTasksDocument),
  createClient: defineOperation("CreateClient", documents.CreateClientDocument),
  addClientDocuments: defineOperation("AddClientDocuments", documents.AddClientDocumentsDocument),
  triggerTaxPrep: defineOperation("TriggerTaxPrep", documents.TriggerTaxPrepDocument),
  createWorkspace: defineOperation("CreateWorkspace", documents.CreateWorkspaceDocument),
  addUsersToTheWorkspace: defineOperation("AddUsersToTheWorkspace", documents.AddUsersToTheWorkspaceDocument),
  startProviderConnection: defineOperation(
    "StartProviderConnection",
    documents.StartProviderConnectionDocument,
  ),
  collectProviderConnection: defineOperation(
    "CollectProviderConnection",
    documents.CollectProviderConnectionDocument,
  ),
  createConnectionJob: defineOperation("CreateConnectionJob", documents.CreateConnectionJobDocument),
  createJobWorks: defineOperation("CreateJobWorks", documents.CreateJobWorksDocument),
  createJobWorkArtifacts: defineOperation("CreateJobWorkArtifacts", documents.CreateJobWorkArtifactsDocument),
  initiateTaxPrepsImport: defineOperation("InitiateTaxPrepsImport", documents.InitiateTaxPrepsImportDocument),
} as const;
