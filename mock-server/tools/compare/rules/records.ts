// Tasks, clients, uploads and what partners make of them. Nothing is created: the record that a mutation refers to does not
// exist, or its document is only validated.

import { isPlainObject, valueAt } from "@workspace-tasks/kernel/plain-object.ts";
import { operationDocuments } from "@workspace-tasks/mock-server/parts";
import {
  accepted,
  badInput,
  bound,
  type Fact,
  forbidden,
  isNotAccepted,
  notFound,
  type Options,
  outcomeOf,
  type Rejection,
  type Rule,
  rejected,
  rule,
  unauthenticated,
  wordOf,
} from "../ask/rule.ts";
import { Untestable } from "../ask/send.ts";
import {
  type OperationName,
  type Service,
  type ServiceResponse,
  type TokenName,
  unknownId,
} from "../ask/service.ts";
import { asAdministrator } from "./endpoints.ts";
import { requirePermission } from "./tokens.ts";

type Json = Readonly<Record<string, unknown>>;
type Noun = "tasks" | "clients";

const inWorkspace = (service: Service, selection: string) =>
  service.graphql(`{ me { __typename ... on WorkspaceUser { workspace { ${selection} } } } }`);

const operations = { tasks: "ListTasks", clients: "ListClients" } as const;
const list = (service: Service, noun: Noun, variables: Json, isNew = false) =>
  service.operation(operations[noun], variables, { isNew });

/** @throws Untestable for a response with errors */
function itemsOf(response: ServiceResponse, noun: Noun): readonly Json[] {
  const items = valueAt(accepted(response, "a list").data, "me", "workspace", noun);
  return Array.isArray(items) ? items.filter(isPlainObject) : [];
}

const newestOf = async (service: Service, noun: Noun) =>
  itemsOf(await list(service, noun, { limit: 20 }), noun);

/** A rule over the items of a list; one that is rejected is another fact. */
const listRule = (
  title: string,
  expected: Fact,
  ask: (service: Service) => Promise<ServiceResponse>,
  read: (items: readonly Json[], service: Service) => Fact | Promise<Fact>,
  options?: Options,
): Rule =>
  rule(
    title,
    expected,
    async (service) => {
      const response = await ask(service);
      if (response.errors.length > 0 || response.body !== "graphql") return { rejected: outcomeOf(response) };
      return read(itemsOf(response, "tasks"), service);
    },
    options,
  );

const limits = badInput("Limit must be between 1 and 1000");

/** The lists of tasks and of clients have these rules in common. */
const ofNoun = (noun: Noun, assumption: string, timeField: string): readonly Rule[] => {
  const few = `the workspace has fewer than two ${noun}`;
  return [
    rule(
      `P7 ${assumption} ${noun}.list: ${noun} are listed under the workspace`,
      "accepted",
      async (service) => outcomeOf(await list(service, noun, { limit: 20 })),
    ),
    rule(
      `P7 ${assumption} ${noun}.order: ${noun} are listed newest first`,
      "newest first",
      async (service) => {
        const items = await newestOf(service, noun);
        if (items.length < 2) throw new Untestable(few);
        // An item without a time says nothing about the order.
        const times = items
          .map((item) => new Date(item[timeField] as string).getTime())
          .filter((time) => time > 0);
        const isNewest = times.every((time, index) => index === 0 || time <= (times[index - 1] ?? time));
        return isNewest ? "newest first" : "another order";
      },
    ),
    rule(
      `P7 ${assumption} ${noun}.offset: offset and limit select ${noun} by position`,
      { items: 1, isSecond: true },
      async (service) => {
        const ids = async (variables: Json) =>
          itemsOf(await list(service, noun, variables, true), noun).map(({ id }) => id);
        const all = await ids({ limit: 20 });
        if (all.length < 2) throw new Untestable(few);
        const [second, again] = [await ids({ offset: 1, limit: 1 }), await ids({ limit: 2 })];
        // Other users may change the workspace meanwhile.
        if (all[0] !== again[0] || all[1] !== again[1])
          throw new Untestable(`the workspace's ${noun} changed during the run`);
        return { items: second.length, isSecond: second[0] === all[1] };
      },
    ),
    rejected(`P7 A-27 ${noun}.limit-0: ${noun} with limit 0 are rejected`, limits, (service) =>
      list(service, noun, { limit: 0 }),
    ),
    rejected(
      `P7 A-27 ${noun}.limit-1001: ${noun} with limit 1001 are rejected`,
      limits,
      (service) => inWorkspace(service, `${noun}(limit: 1001) { __typename }`),
      { setting: bound((listItemsMax) => ({ bounds: { listItemsMax } })) },
    ),
  ];
};

const tasks = (service: Service, variables: Json) => list(service, "tasks", variables);
const isCompleted = ({ status }: Json) => status === "COMPLETED";
const isTaxPrep = (task: Json) => task["type"] === "TAX_PREP" && isCompleted(task);
const completedTaxPreps = (service: Service) =>
  tasks(service, { limit: 5, filters: { types: ["TAX_PREP"], statuses: ["COMPLETED"] } });

/** Whether a filtered list has what fits, next to a list that has other tasks as well. */
const filterRule = (
  title: string,
  noun: string,
  ask: (service: Service) => Promise<ServiceResponse>,
  fits: (item: Json) => boolean,
): Rule =>
  listRule(title, "what fits is listed", ask, async (found, service) => {
    if (!found.every(fits)) return "others are listed";
    const all = await newestOf(service, "tasks");
    if (found.length > 0 && !all.every(fits)) return "what fits is listed";
    if (found.length === 0 && all.some(fits)) return "nothing is listed";
    throw new Untestable(
      found.length === 0 ? `the workspace has no ${noun}` : `the newest tasks are each a ${noun}`,
    );
  });

const defaultLimit = 20;
const lengthOf = (items: readonly Json[]) => items.length;
const stages = ["document-classification", "tax-extraction", "reconciliation", "data-entry", "review"];

export const taskRules: readonly Rule[] = [
  ...ofNoun("tasks", "A-16", "startedAt"),
  listRule(
    `P7 A-16 tasks.default-limit: a list of tasks without arguments has ${defaultLimit}`,
    defaultLimit,
    (service) => inWorkspace(service, "tasks { __typename }"),
    async (items, service) => {
      if ((await newestOf(service, "tasks")).length < defaultLimit)
        throw new Untestable(`the workspace has fewer than ${defaultLimit} tasks`);
      return items.length;
    },
  ),
  listRule(
    "P7 A-16 tasks.past-end: a list past the end is empty",
    0,
    (service) => tasks(service, { offset: 1_000_000, limit: 1 }),
    lengthOf,
  ),
  filterRule(
    "P7 A-16 tasks.filter-status: tasks are filtered by status",
    "completed task",
    (service) => tasks(service, { limit: 5, filters: { statuses: ["COMPLETED"] } }),
    isCompleted,
  ),
  filterRule(
    "P7 A-16 tasks.filter-type: tasks are filtered by type",
    "completed task of type TAX_PREP",
    completedTaxPreps,
    isTaxPrep,
  ),
  rule("P7 A-16 tasks.filter-id: a task is found by its id", { items: 1, isIt: true }, async (service) => {
    const [newest] = await newestOf(service, "tasks");
    if (!newest) throw new Untestable("the workspace has no task");
    const found = itemsOf(await tasks(service, { limit: 5, filters: { ids: [newest["id"]] } }), "tasks");
    return { items: found.length, isIt: found[0]?.["id"] === newest["id"] };
  }),
  listRule(
    "P7 A-16 tasks.unknown-id: an unknown id finds no task",
    0,
    (service) => tasks(service, { limit: 5, filters: { ids: [unknownId] } }),
    lengthOf,
  ),
  rule("P7 A-27 tasks.limit-101: a limit above 100 is accepted", "accepted", async (service) =>
    outcomeOf(await inWorkspace(service, "tasks(limit: 101) { __typename }")),
  ),
  rejected(
    "P7 A-27 tasks.negative-offset: a negative offset is rejected",
    badInput("Offset must not be negative"),
    (service) => tasks(service, { offset: -1, limit: 1 }),
  ),
  listRule(
    "E4 A-18 tasks.stages: a TAX_PREP task has its five stages",
    stages,
    completedTaxPreps,
    (items) => {
      // The newest with stages: a task that was ended by hand has none.
      const runs = items.map(({ subTasks }) => (Array.isArray(subTasks) ? subTasks : []));
      const newest = runs.find(({ length }) => length > 0);
      if (newest) return newest.map((stage) => wordOf(valueAt(stage, "type")));
      throw new Untestable("the workspace has no completed task of type TAX_PREP with stages");
    },
    {
      setting(found) {
        if (!Array.isArray(found) || found.length === 0 || found.includes("…")) return null;
        const changed = found.map((type: Fact) => ({ type: String(type), durationMs: 1_000 }));
        return { tasks: { plans: { TAX_PREP: { progression: "timed", stages: changed } } } };
      },
    },
  ),
];

async function firstClient(service: Service): Promise<unknown> {
  const [first] = await newestOf(service, "clients");
  if (!first) throw new Untestable("the workspace has no client");
  return first["id"];
}

export const clientRules: readonly Rule[] = [
  ...ofNoun("clients", "A-27", "createdAt"),
  rule("P7 A-27 clients.one: a client is found by its id", { isIt: true }, async (service) => {
    const id = await firstClient(service);
    const { data } = accepted(await service.operation("GetClient", { id }));
    return { isIt: valueAt(data, "me", "workspace", "client", "id") === id };
  }),
  rule(
    "P7 A-27 clients.unknown: an unknown client is null, without an error",
    { outcome: "accepted", isNull: true },
    async (service) => {
      const response = await service.operation("GetClient", { id: unknownId });
      const isNull = valueAt(response.data, "me", "workspace", "client") === null;
      return { outcome: outcomeOf(response), isNull };
    },
  ),
  rule("P7 A-16 clients.tasks: tasks are listed under their client", "accepted", async (service) =>
    outcomeOf(await service.operation("ListClientTasks", { id: await firstClient(service), limit: 5 })),
  ),
];

/** Any member may do it with a read_write key. */
const documentsOfUnknown = (service: Service) =>
  service.once("documents-unknown", () =>
    service.operation("AddClientDocuments", { input: { clientId: unknownId, uploadIds: [unknownId] } }),
  );

const asMember = (each: Rule): Rule => ({
  ...each,
  needs: "writes",
  permit: each.permit ?? (async (service) => requirePermission(service, await documentsOfUnknown(service))),
});

/** The interface names the endpoint, and nothing of it. */
const uploadRule = (name: string, says: string, method: string, token: TokenName, status: number): Rule =>
  rule(
    `P7 A-28 uploads.${name}: ${says}`,
    { status },
    async (service) => {
      const path = method === "HEAD" ? `/api/uploads/${unknownId}` : "/api/uploads";
      const headers = method === "OPTIONS" ? {} : { "tus-resumable": "1.0.0" };
      return { status: (await service.raw({ method, path, headers }, token)).status };
    },
    // Without its length no upload can result from it, with any key.
    method === "POST" ? { needs: "writes" } : {},
  );

export const uploadRules: readonly Rule[] = [
  uploadRule("options", "uploads are taken at /api/uploads", "OPTIONS", "none", 204),
  uploadRule("unknown", "an unknown upload is a 404", "HEAD", "reader", 404),
  uploadRule("head-read-only", "a read-only key may ask for an upload", "HEAD", "readOnly", 404),
  uploadRule("head-no-token", "an upload cannot be asked for without a token", "HEAD", "none", 401),
  asMember(uploadRule("no-length", "an upload without a length is a 400", "POST", "admin", 400)),
  uploadRule("create-read-only", "a read-only key may create no upload", "POST", "readOnly", 403),
  uploadRule("create-no-token", "an upload cannot be created without a token", "POST", "none", 401),
];

/**
 * A mutation's document, validated by the service and not executed: it executes the operation that is named, which is the
 * query.
 */
export const validate = (service: Service, name: OperationName, router = operationDocuments[name].router) =>
  service.once(`validate ${name} ${router}`, () => {
    const document = `query Check { __typename }\n\n${operationDocuments[name].text}`;
    return service.graphql(document, {}, { operationName: "Check", token: "admin", router });
  });

const otherRouter = { base: "gateway", gateway: "base" } as const;

const onOtherRouter = (title: string, name: OperationName): Rule =>
  rule(
    title,
    "rejected with GRAPHQL_VALIDATION_FAILED",
    async (service) => {
      // A service may take no document with several operations, wherever it is sent.
      accepted(await validate(service, name));
      return outcomeOf(await validate(service, name, otherRouter[operationDocuments[name].router]));
    },
    { needs: "writes" },
  );

const work = { name: "workspace-tasks compare", externalId: "workspace-tasks-compare" };
const createJob = ["CreateConnectionJob", { connectionId: unknownId, jobName: work.name }] as const;
// The list is empty, so that no service can add anyone.
const addUsers = ["AddUsersToTheWorkspace", { workspaceId: unknownId, userEmails: [] }] as const;

type Row = readonly [
  title: string,
  expected: Rejection,
  request: readonly [OperationName, Json],
  options?: Options & { readonly token?: TokenName },
];

const rejectedOperation = ([title, expected, [name, variables], more = {}]: Row): Rule => {
  const { token = "admin", ...options } = more;
  const ask = (service: Service) => service.operation(name, variables, { token });
  return rejected(title, expected, ask, { needs: "writes", ...options });
};

/** The interface says that they fail, and not how. */
const failing = { keeps: isNotAccepted };

const ofUnknown: readonly Row[] = [
  [
    "P3 A-13 partner.collect-unknown: collecting an unknown connection is rejected",
    notFound("Provider connection"),
    ["CollectProviderConnection", { connectionId: unknownId }],
    failing,
  ],
  [
    "P4 A-14 partner.job-unknown: a job on an unknown connection is rejected",
    notFound("Provider connection"),
    createJob,
    failing,
  ],
  [
    "P5 A-14 partner.works-unknown: works for an unknown job are rejected",
    notFound("Connection job"),
    ["CreateJobWorks", { connectionJobId: unknownId, inputs: [work] }],
    failing,
  ],
  [
    "P7 A-26 partner.artifacts-unknown: artifacts for an unknown work are rejected",
    notFound("Job work"),
    ["CreateJobWorkArtifacts", { jobWorkId: unknownId, inputs: [{ ...work, type: "w2" }] }],
  ],
  [
    "P7 A-15 partner.import-unknown: the import of an unknown job is rejected",
    notFound("Connection job"),
    ["InitiateTaxPrepsImport", { connectionJobId: unknownId }],
  ],
  [
    "P7 A-24 partner.users-unknown: adding no users to an unknown workspace is rejected",
    badInput("userEmails must be a list of email addresses"),
    addUsers,
    { permit: asAdministrator },
  ],
  [
    "P7 A-34 clients.tax-prep-unknown: a TAX_PREP task for an unknown client is rejected",
    notFound("Client"),
    ["TriggerTaxPrep", { input: { clientId: unknownId, returnType: "F1040" } }],
  ],
];

const withoutPermission: readonly Row[] = [
  [
    "P2 A-4 partner.job-no-token: a partner operation without a token is rejected",
    unauthenticated(),
    createJob,
    { token: "none" },
  ],
  [
    "K7 A-4 A-19 partner.job-read-only: a partner operation with a read-only key is rejected",
    forbidden,
    createJob,
    { token: "readOnly" },
  ],
  [
    "K7 A-24 partner.users-read-only: adding users with a read-only key is rejected",
    forbidden,
    addUsers,
    { token: "readOnly" },
  ],
];

export const partnerRules: readonly Rule[] = [
  onOtherRouter(
    "T2 A-21 routers.webhooks-on-gateway: webhook operations do not exist on the gateway",
    "CreateWebhookEndpoint",
  ),
  onOtherRouter(
    "T2 A-21 routers.partner-on-base: partner operations do not exist on the base router",
    "CreateConnectionJob",
  ),
  asMember(
    rejected(
      "P7 A-34 clients.documents-unknown: documents for an unknown client are rejected",
      notFound("Client"),
      documentsOfUnknown,
    ),
  ),
  ...ofUnknown.map(rejectedOperation).map(asMember),
  ...withoutPermission.map(rejectedOperation),
];
