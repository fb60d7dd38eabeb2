// Tasks, clients, uploads and what partners make of them. Nothing is created: the record that a mutation refers to does not
// exist, or its document is only validated.

import { isPlainObject, valueAt } from "@workspace-tasks/kernel/plain-object.ts";
import { operationDocuments } from "@workspace-tasks/mock-server/parts";
import {
  type Ask,
  acceptances,
  accepted,
  badInput,
  bound,
  type Fact,
  forbidden,
  isNotAccepted,
  notFound,
  outcomeOf,
  type Rule,
  rejections,
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
import { validate } from "./documents.ts";
import { asAdministrator } from "./tokens.ts";

type Json = Readonly<Record<string, unknown>>;
type Noun = "tasks" | "clients";

const inWorkspace = (service: Service, selection: string) =>
  service.graphql(`{ me { __typename ... on WorkspaceUser { workspace { ${selection} } } } }`);

const list = (service: Service, noun: Noun, variables: Json, isNew = false) =>
  service.operation(noun === "tasks" ? "ListTasks" : "ListClients", variables, { isNew });

/** @throws Untestable for a response with errors */
function itemsOf(response: ServiceResponse, noun: Noun): readonly Json[] {
  const items = valueAt(accepted(response, "a list").data, "me", "workspace", noun);
  return Array.isArray(items) ? items.filter(isPlainObject) : [];
}

const newestOf = async (service: Service, noun: Noun) =>
  itemsOf(await list(service, noun, { limit: 20 }), noun);

const limits = badInput("Limit must be between 1 and 1000");

/** The lists of tasks and of clients have these rules in common. */
const ofNoun = (noun: Noun, assumption: string, timeField: string): readonly Rule[] => [
  ...acceptances([
    [
      `P7 ${assumption} ${noun}.list: ${noun} are listed under the workspace`,
      (service) => list(service, noun, { limit: 20 }),
    ],
  ]),
  rule(`P7 ${assumption} ${noun}.order: ${noun} are listed newest first`, "newest first", async (service) => {
    const items = await newestOf(service, noun);
    if (items.length < 2) throw new Untestable(`the workspace has fewer than two ${noun}`);
    // An item without a time says nothing about the order.
    const times = items
      .map((item) => new Date(item[timeField] as string).getTime())
      .filter((time) => time > 0);
    const isNewest = times.every((time, index) => index === 0 || time <= (times[index - 1] ?? time));
    return isNewest ? "newest first" : "another order";
  }),
  rule(
    `P7 ${assumption} ${noun}.offset: offset and limit select ${noun} by position`,
    { items: 1, isSecond: true },
    async (service) => {
      const ids = async (variables: Json) =>
        itemsOf(await list(service, noun, variables, true), noun).map(({ id }) => id);
      const all = await ids({ limit: 20 });
      if (all.length < 2) throw new Untestable(`the workspace has fewer than two ${noun}`);
      const [second, again] = [await ids({ offset: 1, limit: 1 }), await ids({ limit: 2 })];
      // Other users may change the workspace meanwhile.
      if (all[0] !== again[0] || all[1] !== again[1])
        throw new Untestable(`the workspace's ${noun} changed during the run`);
      return { items: second.length, isSecond: second[0] === all[1] };
    },
  ),
  ...rejections([
    [`P7 A-27 ${noun}.limit-0: limit 0 for ${noun}`, limits, (service) => list(service, noun, { limit: 0 })],
    [
      `P7 A-27 ${noun}.limit-1001: limit 1001 for ${noun}`,
      limits,
      (service) => inWorkspace(service, `${noun}(limit: 1001) { __typename }`),
      { setting: bound((listItemsMax) => ({ bounds: { listItemsMax } })) },
    ],
  ]),
];

type TasksRow = readonly [
  title: string,
  expected: Fact,
  ask: Ask,
  read: (items: readonly Json[], service: Service) => Fact | Promise<Fact>,
  setting?: Rule["setting"],
];

/** Rules over the items of a list; one that is rejected is another fact. */
const tasksRules = (rows: readonly TasksRow[]): readonly Rule[] =>
  rows.map(([title, expected, ask, read, setting]) =>
    rule(
      title,
      expected,
      async (service) => {
        const response = await ask(service);
        const outcome = outcomeOf(response);
        return outcome === "accepted" ? read(itemsOf(response, "tasks"), service) : outcome;
      },
      { setting },
    ),
  );

const tasks =
  (variables: Json): Ask =>
  (service) =>
    list(service, "tasks", variables);
const isCompleted = ({ status }: Json) => status === "COMPLETED";
const isTaxPrep = (task: Json) => task["type"] === "TAX_PREP" && isCompleted(task);
const completedTaxPreps = tasks({ limit: 5, filters: { types: ["TAX_PREP"], statuses: ["COMPLETED"] } });

const fitting = "what fits is listed";

/** Whether a filtered list has what fits, next to a list that has other tasks as well. */
const filtered =
  (noun: string, fits: (item: Json) => boolean) =>
  async (found: readonly Json[], service: Service): Promise<Fact> => {
    if (!found.every(fits)) return "others are listed";
    const all = await newestOf(service, "tasks");
    if (found.length > 0 && !all.every(fits)) return fitting;
    if (found.length === 0 && all.some(fits)) return "nothing is listed";
    throw new Untestable(
      found.length === 0 ? `the workspace has no ${noun}` : `the newest tasks are each a ${noun}`,
    );
  };

const defaultLimit = 20;
const lengthOf = (items: readonly Json[]) => items.length;

export const taskRules: readonly Rule[] = [
  ...ofNoun("tasks", "A-16", "startedAt"),
  ...tasksRules([
    [
      `P7 A-16 tasks.default-limit: a list of tasks without arguments has ${defaultLimit}`,
      defaultLimit,
      (service) => inWorkspace(service, "tasks { __typename }"),
      async (items, service) => {
        if ((await newestOf(service, "tasks")).length < defaultLimit)
          throw new Untestable(`the workspace has fewer than ${defaultLimit} tasks`);
        return items.length;
      },
    ],
    [
      "P7 A-16 tasks.past-end: a list past the end is empty",
      0,
      tasks({ offset: 1_000_000, limit: 1 }),
      lengthOf,
    ],
    [
      "P7 A-16 tasks.filter-status: tasks are filtered by status",
      fitting,
      tasks({ limit: 5, filters: { statuses: ["COMPLETED"] } }),
      filtered("completed task", isCompleted),
    ],
    [
      "P7 A-16 tasks.filter-type: tasks are filtered by type",
      fitting,
      completedTaxPreps,
      filtered("completed task of type TAX_PREP", isTaxPrep),
    ],
    [
      "P7 A-16 tasks.filter-id: a task is found by its id",
      "the task",
      tasks({ limit: 20 }),
      async ([newest], service) => {
        if (!newest) throw new Untestable("the workspace has no task");
        const found = itemsOf(await tasks({ limit: 5, filters: { ids: [newest["id"]] } })(service), "tasks");
        return found.length === 1 && found[0]?.["id"] === newest["id"] ? "the task" : "others";
      },
    ],
    [
      "P7 A-16 tasks.unknown-id: an unknown id finds no task",
      0,
      tasks({ limit: 5, filters: { ids: [unknownId] } }),
      lengthOf,
    ],
    [
      "E4 A-18 tasks.stages: a TAX_PREP task has its five stages",
      ["document-classification", "tax-extraction", "reconciliation", "data-entry", "review"],
      completedTaxPreps,
      (items) => {
        // The newest with stages: a task that was ended by hand has none.
        const runs = items.map(({ subTasks }) => (Array.isArray(subTasks) ? subTasks : []));
        const newest = runs.find(({ length }) => length > 0);
        if (newest) return newest.map((stage) => wordOf(valueAt(stage, "type")));
        throw new Untestable("the workspace has no completed task of type TAX_PREP with stages");
      },
      (found) => {
        if (!Array.isArray(found) || found.length === 0 || found.includes("…")) return null;
        const stages = found.map((type: Fact) => ({ type: String(type), durationMs: 1_000 }));
        return { tasks: { plans: { TAX_PREP: { progression: "timed", stages } } } };
      },
    ],
  ]),
  ...acceptances([
    [
      "P7 A-27 tasks.limit-101: a limit above 100 is accepted",
      (service) => inWorkspace(service, "tasks(limit: 101) { __typename }"),
    ],
  ]),
  ...rejections([
    [
      "P7 A-27 tasks.negative-offset: a negative offset",
      badInput("Offset must not be negative"),
      tasks({ offset: -1, limit: 1 }),
    ],
  ]),
];

async function firstClient(service: Service): Promise<unknown> {
  const [first] = await newestOf(service, "clients");
  if (!first) throw new Untestable("the workspace has no client");
  return first["id"];
}

export const clientRules: readonly Rule[] = [
  ...ofNoun("clients", "A-27", "createdAt"),
  rule("P7 A-27 clients.one: a client is found by its id", true, async (service) => {
    const id = await firstClient(service);
    const { data } = accepted(await service.operation("GetClient", { id }));
    return valueAt(data, "me", "workspace", "client", "id") === id;
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
  ...acceptances([
    [
      "P7 A-16 clients.tasks: tasks are listed under their client",
      async (service) => service.operation("ListClientTasks", { id: await firstClient(service), limit: 5 }),
    ],
  ]),
];

const tus = { "tus-resumable": "1.0.0" };
const upload = `/api/uploads/${unknownId}`;
const uploadRows: readonly (readonly [string, string, path: string, TokenName, status: number])[] = [
  ["OPTIONS", "options: uploads are taken at /api/uploads", "/api/uploads", "none", 204],
  ["HEAD", "unknown: an unknown upload is a 404", upload, "reader", 404],
  ["HEAD", "head-read-only: a read-only key may ask for an upload", upload, "readOnly", 404],
  ["HEAD", "head-no-token: an upload cannot be asked for without a token", upload, "none", 401],
  // Without its length no upload can result from it, with any key.
  ["POST", "create-read-only: a read-only key may create no upload", "/api/uploads", "readOnly", 403],
  ["POST", "create-no-token: an upload cannot be created without a token", "/api/uploads", "none", 401],
  ["POST", "no-length: an upload without a length is a 400", "/api/uploads", "admin", 400],
];

/** The interface names the endpoint, and nothing of it. */
export const uploadRules: readonly Rule[] = uploadRows.flatMap(([method, title, path, token, status]) => {
  const headers = method === "OPTIONS" ? {} : tus;
  const asked = rule(`P7 A-28 uploads.${title}`, status, async (service) => {
    return (await service.raw({ method, path, headers }, token)).status;
  });
  if (token === "admin") return asAdministrator([asked], { needs: "writes" });
  return method === "POST" ? { ...asked, needs: "writes" } : asked;
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

const operation =
  (name: OperationName, variables: Json, token: TokenName = "admin"): Ask =>
  (service) =>
    service.operation(name, variables, { token });

const work = { name: "workspace-tasks compare", externalId: "workspace-tasks-compare" };
const createJob = (token?: TokenName) =>
  operation("CreateConnectionJob", { connectionId: unknownId, jobName: work.name }, token);
// The list is empty, so that no service can add anyone.
const addUsers = (token?: TokenName) =>
  operation("AddUsersToTheWorkspace", { workspaceId: unknownId, userEmails: [] }, token);

/** The interface says that they fail, and not how. */
const failing = { keeps: isNotAccepted };

const ofUnknown: readonly Rule[] = rejections([
  [
    "P7 A-34 clients.documents-unknown: documents for an unknown client",
    notFound("Client"),
    operation("AddClientDocuments", { input: { clientId: unknownId, uploadIds: [unknownId] } }),
  ],
  [
    "P7 A-34 clients.tax-prep-unknown: a TAX_PREP task for an unknown client",
    notFound("Client"),
    operation("TriggerTaxPrep", { input: { clientId: unknownId, returnType: "F1040" } }),
  ],
  [
    "P3 A-13 partner.collect-unknown: collecting an unknown connection",
    notFound("Provider connection"),
    operation("CollectProviderConnection", { connectionId: unknownId }),
    failing,
  ],
  [
    "P4 A-14 partner.job-unknown: a job on an unknown connection",
    notFound("Provider connection"),
    createJob(),
    failing,
  ],
  [
    "P5 A-14 partner.works-unknown: works for an unknown job",
    notFound("Connection job"),
    operation("CreateJobWorks", { connectionJobId: unknownId, inputs: [work] }),
    failing,
  ],
  [
    "P7 A-26 partner.artifacts-unknown: an artifact for an unknown work",
    notFound("Job work"),
    operation("CreateJobWorkArtifacts", { jobWorkId: unknownId, inputs: [{ ...work, type: "w2" }] }),
  ],
  [
    "P7 A-15 partner.import-unknown: the import of an unknown job",
    notFound("Connection job"),
    operation("InitiateTaxPrepsImport", { connectionJobId: unknownId }),
  ],
  [
    "P7 A-24 partner.users-unknown: adding no users to an unknown workspace",
    badInput("userEmails must be a list of email addresses"),
    addUsers(),
  ],
]);

export const partnerRules: readonly Rule[] = [
  onOtherRouter(
    "T2 A-21 routers.webhooks-on-gateway: webhook operations do not exist on the gateway",
    "CreateWebhookEndpoint",
  ),
  onOtherRouter(
    "T2 A-21 routers.partner-on-base: partner operations do not exist on the base router",
    "CreateConnectionJob",
  ),
  ...asAdministrator(ofUnknown, { needs: "writes" }),
  ...rejections(
    [
      [
        "P2 A-4 partner.job-no-token: a partner operation without a token",
        unauthenticated(),
        createJob("none"),
      ],
      [
        "K7 A-4 A-19 partner.job-read-only: a partner operation with a read-only key",
        forbidden,
        createJob("readOnly"),
      ],
      ["K7 A-24 partner.users-read-only: adding users with a read-only key", forbidden, addUsers("readOnly")],
    ],
    { needs: "writes" },
  ),
];
