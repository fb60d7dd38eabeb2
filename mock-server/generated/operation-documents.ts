/** Every operation that the SDK ships, as it is sent. */
export const operationDocuments = {
  AddClientDocuments: {
    kind: "mutation",
    router: "base",
    text: `mutation AddClientDocuments($input: AddClientDocumentsInput!) {
  addClientDocuments(input: $input) {
    taskId
  }
}`,
  },
  AddUsersToTheWorkspace: {
    kind: "mutation",
    router: "gateway",
    text: `mutation AddUsersToTheWorkspace($workspaceId: ID!, $userEmails: [String!]!) {
  addUsersToTheWorkspace(workspaceId: $workspaceId, userEmails: $userEmails) {
    id
    email
    name
    role
  }
}`,
  },
  CollectProviderConnection: {
    kind: "mutation",
    router: "gateway",
    text: `mutation CollectProviderConnection($connectionId: ID!, $inputs: JSON) {
  collectProviderConnection(connectionId: $connectionId, inputs: $inputs) {
    ...ProviderConnectionFields
  }
}

fragment ProviderConnectionFields on ProviderConnection {
  id
  workspaceId
  providerKey
  status
  displayName
  settings
  updatedAt
  action
  createdAt
}`,
  },
  CreateClient: {
    kind: "mutation",
    router: "base",
    text: `mutation CreateClient($input: CreateClientInput!) {
  createClient(input: $input) {
    client {
      ...ClientFields
    }
    taskId
  }
}

fragment ClientFields on Client {
  id
  name
  externalId
  status
  returnType
  taxYear
  createdAt
}`,
  },
  CreateConnectionJob: {
    kind: "mutation",
    router: "gateway",
    text: `mutation CreateConnectionJob($connectionId: ID!, $jobName: String!) {
  createConnectionJob(connectionId: $connectionId, jobName: $jobName) {
    ...ConnectionJobFields
  }
}

fragment ConnectionJobFields on ConnectionJob {
  id
  connectionId
  workspaceId
  name
  status
  createdAt
  updatedAt
}`,
  },
  CreateJobWorkArtifacts: {
    kind: "mutation",
    router: "gateway",
    text: `mutation CreateJobWorkArtifacts($jobWorkId: ID!, $inputs: [CreateJobWorkArtifactsInput!]!) {
  createJobWorkArtifacts(jobWorkId: $jobWorkId, inputs: $inputs) {
    id
    createdAt
    updatedAt
    workspaceId
    artifactId
    connectionJobId
    jobWorkId
    workArtifact {
      id
      externalId
      name
      type
      status
      uploadedUrl
      metadata
    }
  }
}`,
  },
  CreateJobWorks: {
    kind: "mutation",
    router: "gateway",
    text: `mutation CreateJobWorks($connectionJobId: ID!, $inputs: [CreateJobWorksInput!]!) {
  createJobWorks(connectionJobId: $connectionJobId, inputs: $inputs) {
    id
    createdAt
    updatedAt
    workspaceId
    workId
    connectionJobId
  }
}`,
  },
  CreateWebhookEndpoint: {
    kind: "mutation",
    router: "base",
    text: `mutation CreateWebhookEndpoint($input: CreateWebhookEndpointInput!) {
  createWebhookEndpoint(input: $input) {
    endpoint {
      ...WebhookEndpointFields
    }
    signingSecret
  }
}

fragment WebhookEndpointFields on WebhookEndpoint {
  id
  url
  description
  enabled
  eventTypes
  createdAt
  updatedAt
}`,
  },
  CreateWorkspace: {
    kind: "mutation",
    router: "gateway",
    text: `mutation CreateWorkspace($input: CreateWorkspaceInput!) {
  createWorkspace(input: $input) {
    id
    slug
    displayName
    status
    workspaceType
  }
}`,
  },
  DeleteWebhookEndpoint: {
    kind: "mutation",
    router: "base",
    text: `mutation DeleteWebhookEndpoint($endpointId: ID!) {
  deleteWebhookEndpoint(endpointId: $endpointId)
}`,
  },
  ExchangeApiKey: {
    kind: "mutation",
    router: "base",
    text: `mutation ExchangeApiKey($refreshToken: String!, $expiresInSeconds: Int) {
  exchangeSurfaceRefreshTokenForAccessTokens(
    refreshToken: $refreshToken
    expiresInSeconds: $expiresInSeconds
  ) {
    workspaceToken
  }
}`,
  },
  GetClient: {
    kind: "query",
    router: "base",
    text: `query GetClient($id: ID!) {
  me {
    __typename
    ... on WorkspaceUser {
      workspace {
        client(id: $id) {
          ...ClientFields
        }
      }
    }
  }
}

fragment ClientFields on Client {
  id
  name
  externalId
  status
  returnType
  taxYear
  createdAt
}`,
  },
  InitiateTaxPrepsImport: {
    kind: "mutation",
    router: "gateway",
    text: `mutation InitiateTaxPrepsImport($connectionJobId: ID!) {
  initiateTaxPrepsImport(connectionJobId: $connectionJobId) {
    ...ConnectionJobFields
  }
}

fragment ConnectionJobFields on ConnectionJob {
  id
  connectionId
  workspaceId
  name
  status
  createdAt
  updatedAt
}`,
  },
  ListClientTasks: {
    kind: "query",
    router: "base",
    text: `query ListClientTasks($id: ID!, $type: String, $status: TaskStatus, $triggeredBy: ID, $limit: Int) {
  me {
    __typename
    ... on WorkspaceUser {
      workspace {
        client(id: $id) {
          id
          tasks(type: $type, status: $status, triggeredBy: $triggeredBy, limit: $limit) {
            ...TaskFields
          }
        }
      }
    }
  }
}

fragment TaskFields on Task {
  id
  type
  status
  startedAt
  completedAt
  errorMessage
  attributes {
    name
    value
  }
  subTasks {
    id
    type
    status
    startedAt
    completedAt
    errorMessage
  }
  result {
    __typename
    ... on TaskTaxPrepResult {
      taxYear
      returnType
      summary
      documentCount
      extractedFormCount
      reviewItemCount
      reviewItems {
        severity
        category
        description
      }
    }
    ... on TaskUnknownResult {
      taskType
    }
  }
  client {
    id
    name
  }
  triggeredBy {
    id
    name
    email
  }
}`,
  },
  ListClients: {
    kind: "query",
    router: "base",
    text: `query ListClients($offset: Int, $limit: Int) {
  me {
    __typename
    ... on WorkspaceUser {
      workspace {
        clients(offset: $offset, limit: $limit) {
          ...ClientFields
        }
      }
    }
  }
}

fragment ClientFields on Client {
  id
  name
  externalId
  status
  returnType
  taxYear
  createdAt
}`,
  },
  ListTasks: {
    kind: "query",
    router: "base",
    text: `query ListTasks($filters: TaskFilters, $offset: Int, $limit: Int) {
  me {
    __typename
    ... on WorkspaceUser {
      workspace {
        id
        tasks(filters: $filters, offset: $offset, limit: $limit) {
          ...TaskFields
        }
      }
    }
  }
}

fragment TaskFields on Task {
  id
  type
  status
  startedAt
  completedAt
  errorMessage
  attributes {
    name
    value
  }
  subTasks {
    id
    type
    status
    startedAt
    completedAt
    errorMessage
  }
  result {
    __typename
    ... on TaskTaxPrepResult {
      taxYear
      returnType
      summary
      documentCount
      extractedFormCount
      reviewItemCount
      reviewItems {
        severity
        category
        description
      }
    }
    ... on TaskUnknownResult {
      taskType
    }
  }
  client {
    id
    name
  }
  triggeredBy {
    id
    name
    email
  }
}`,
  },
  ListWebhookEndpoints: {
    kind: "query",
    router: "base",
    text: `query ListWebhookEndpoints($limit: Int, $iterator: String) {
  me {
    __typename
    ... on WorkspaceUser {
      workspace {
        webhookEndpoints(limit: $limit, iterator: $iterator) {
          data {
            ...WebhookEndpointFields
          }
          done
          iterator
        }
      }
    }
  }
}

fragment WebhookEndpointFields on WebhookEndpoint {
  id
  url
  description
  enabled
  eventTypes
  createdAt
  updatedAt
}`,
  },
  LoginPartner: {
    kind: "mutation",
    router: "gateway",
    text: `mutation LoginPartner($token: String!) {
  loginViaPersonalApiToken(token: $token) {
    accessToken
  }
}`,
  },
  Me: {
    kind: "query",
    router: "base",
    text: `query Me {
  me {
    __typename
    ... on WorkspaceUser {
      id
      role
      createdAt
      user {
        id
        name
        email
        emailHash
        novuHash
      }
      workspace {
        id
        name
        slug
        displayName
        status
        workspaceType
      }
    }
    ... on User {
      id
      name
      email
      workspaces {
        id
        name
        createdAt
        status
      }
    }
  }
}`,
  },
  RotateWebhookEndpointSecret: {
    kind: "mutation",
    router: "base",
    text: `mutation RotateWebhookEndpointSecret($input: RotateWebhookEndpointSecretInput!) {
  rotateWebhookEndpointSecret(input: $input) {
    endpoint {
      ...WebhookEndpointFields
    }
    signingSecret
  }
}

fragment WebhookEndpointFields on WebhookEndpoint {
  id
  url
  description
  enabled
  eventTypes
  createdAt
  updatedAt
}`,
  },
  StartProviderConnection: {
    kind: "mutation",
    router: "gateway",
    text: `mutation StartProviderConnection($workspaceId: ID!, $providerKey: String!, $inputs: JSON) {
  startProviderConnection(
    workspaceId: $workspaceId
    providerKey: $providerKey
    inputs: $inputs
  ) {
    ...ProviderConnectionFields
  }
}

fragment ProviderConnectionFields on ProviderConnection {
  id
  workspaceId
  providerKey
  status
  displayName
  settings
  updatedAt
  action
  createdAt
}`,
  },
  TriggerTaxPrep: {
    kind: "mutation",
    router: "base",
    text: `mutation TriggerTaxPrep($input: TriggerTaxPrepInput!) {
  triggerTaxPrep(input: $input) {
    taskId
  }
}`,
  },
  UpdateWebhookEndpoint: {
    kind: "mutation",
    router: "base",
    text: `mutation UpdateWebhookEndpoint($input: UpdateWebhookEndpointInput!) {
  updateWebhookEndpoint(input: $input) {
    ...WebhookEndpointFields
  }
}

fragment WebhookEndpointFields on WebhookEndpoint {
  id
  url
  description
  enabled
  eventTypes
  createdAt
  updatedAt
}`,
  },
  WebhookEventCatalog: {
    kind: "query",
    router: "base",
    text: `query WebhookEventCatalog {
  webhookEventCatalog {
    name
    description
    version
    status
    taskTypes
    payloadSchema
  }
}`,
  },
} as const;
