import type * as records from "./records.ts";

/** The whole memory of the service: one map per noun, keyed by id, in order of creation. */
export type State = {
  readonly users: Map<string, records.UserRecord>;
  readonly memberships: Map<string, records.MembershipRecord>;
  readonly workspaces: Map<string, records.WorkspaceRecord>;
  readonly apiKeys: Map<string, records.ApiKeyRecord>;
  readonly partnerKeys: Map<string, records.PartnerKeyRecord>;
  readonly endedTokens: Map<string, records.EndedTokenRecord>;
  readonly endpoints: Map<string, records.WebhookEndpointRecord>;
  readonly connections: Map<string, records.ConnectionRecord>;
  readonly jobs: Map<string, records.JobRecord>;
  readonly jobWorks: Map<string, records.JobWorkRecord>;
  readonly artifacts: Map<string, records.ArtifactRecord>;
  readonly clients: Map<string, records.ClientRecord>;
  readonly tasks: Map<string, records.TaskRecord>;
  /** Tasks that move on by themselves, by task id. */
  readonly progress: Map<string, records.Progress>;
  readonly taskPlans: Map<string, records.TaskPlanRecord>;
  readonly documents: Map<string, records.DocumentRecord>;
  readonly catalogAdditions: Map<string, records.CatalogAdditionRecord>;
  readonly uploads: Map<string, records.UploadRecord>;
  /** The bytes of each upload, as they came. */
  readonly uploadContents: Map<string, Uint8Array[]>;
  readonly events: Map<string, records.EventRecord>;
  readonly deliveries: Map<string, records.DeliveryRecord>;
};

export function createState(): State {
  return {
    users: new Map(),
    memberships: new Map(),
    workspaces: new Map(),
    apiKeys: new Map(),
    partnerKeys: new Map(),
    endedTokens: new Map(),
    endpoints: new Map(),
    connections: new Map(),
    jobs: new Map(),
    jobWorks: new Map(),
    artifacts: new Map(),
    clients: new Map(),
    tasks: new Map(),
    progress: new Map(),
    taskPlans: new Map(),
    documents: new Map(),
    catalogAdditions: new Map(),
    uploads: new Map(),
    uploadContents: new Map(),
    events: new Map(),
    deliveries: new Map(),
  };
}
