import type * as records from "./records.ts";

/** The whole memory of the service: one map per noun, keyed by id, in order of creation. */
export const createState = () =>
  ({
    users: new Map<string, records.UserRecord>(),
    memberships: new Map<string, records.MembershipRecord>(),
    workspaces: new Map<string, records.WorkspaceRecord>(),
    apiKeys: new Map<string, records.ApiKeyRecord>(),
    partnerKeys: new Map<string, records.PartnerKeyRecord>(),
    endedTokens: new Map<string, records.EndedTokenRecord>(),
    endpoints: new Map<string, records.WebhookEndpointRecord>(),
    connections: new Map<string, records.ConnectionRecord>(),
    jobs: new Map<string, records.JobRecord>(),
    jobWorks: new Map<string, records.JobWorkRecord>(),
    artifacts: new Map<string, records.ArtifactRecord>(),
    clients: new Map<string, records.ClientRecord>(),
    tasks: new Map<string, records.TaskRecord>(),
    /** Tasks that progress by themselves, by task id. */
    progress: new Map<string, records.Progress>(),
    taskPlans: new Map<string, records.TaskPlanRecord>(),
    documents: new Map<string, records.DocumentRecord>(),
    catalogAdditions: new Map<string, records.CatalogAdditionRecord>(),
    uploads: new Map<string, records.UploadRecord>(),
    uploadContents: new Map<string, records.UploadBlocks>(),
    events: new Map<string, records.EventRecord>(),
    deliveries: new Map<string, records.DeliveryRecord>(),
  }) satisfies Record<keyof records.StateLists, Map<string, unknown>>;

export type State = Readonly<ReturnType<typeof createState>>;
