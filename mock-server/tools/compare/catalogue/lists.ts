import { type Fields, fieldsOf, type ResponseShape, type Shape } from "../observe/observation.ts";
import { call, type Draft, query, shared } from "../rules/probe.ts";
import {
  at,
  eachAt,
  hasErrors,
  isNewestFirst,
  listAt,
  outcomeOf,
  rejectedHere,
  timeOf,
  wordOf,
} from "../rules/read-response.ts";
import { rejected, rejectedAbove } from "../rules/rejection.ts";
import { type About, type Fact, type Rule, rule, ruleOver, type Unknown } from "../rules/rule.ts";

const defaultLimit = 20;

/** A UUID of version 7 that no service issues: its time is that of the year 1970. */
export const unknownId = "00000000-0000-7000-8000-00000000c0de";

const inWorkspace = (selection: string): Draft =>
  query(`{ me { __typename ... on WorkspaceUser { workspace { ${selection} } } } }`);

/** A rule over the items at a path. */
const listRule = (
  id: string,
  title: string,
  send: Draft,
  path: string,
  about: About,
  read: (list: readonly Shape[]) => Fact | Unknown,
): Rule =>
  rule(id, title, send, about, (response) => {
    if (hasErrors(response)) return { rejected: outcomeOf(response) };
    const list = listAt(response, path);
    return list ? read(list) : { rejected: "no list" };
  });

const lengthOf = (list: readonly Shape[]): Fact => list.length;

/** The lists of tasks and of clients have these rules in common. */
function ofNoun(
  noun: "tasks" | "clients",
  operation: "ListTasks" | "ListClients",
  assumption: string,
  timeField: string,
) {
  const path = `me.workspace.${noun}`;
  const send = (variables: Readonly<Record<string, unknown>>) => call(operation, variables);
  const newest = shared(`${noun}.list`, send({ limit: 20 }));
  const few = { unknown: `the workspace has fewer than two ${noun}` };
  const byTime = (list: readonly Shape[]) => {
    if (list.length < 2) return few;
    return isNewestFirst(eachAt(list, timeField).map(timeOf)) ? "newest first" : "another order";
  };
  const ids = (response: ResponseShape) => eachAt(listAt(response, path) ?? [], "id");
  return {
    path,
    newest,
    rules: [
      rule(`${noun}.list`, `${noun} are listed under the workspace`, newest, [assumption], outcomeOf),
      listRule(`${noun}.order`, `${noun} are listed newest first`, newest, path, [assumption], byTime),
      ruleOver(
        `${noun}.offset`,
        `offset and limit select ${noun} by position`,
        { newest, second: send({ offset: 1, limit: 1 }), again: send({ limit: 2 }) },
        [assumption],
        (lists) => {
          if (Object.values(lists).some(hasErrors)) return { unknown: "a list was rejected" };
          const [all, second, again] = [ids(lists.newest), ids(lists.second), ids(lists.again)];
          if (all.length < 2) return few;
          // Other users may change the workspace meanwhile.
          if (all[0] !== again[0] || all[1] !== again[1])
            return { unknown: `the workspace's ${noun} changed during the run` };
          return { items: second.length, isSecond: second[0] === all[1] };
        },
      ),
      rejected(`${noun}.limit-0`, `${noun} with limit 0 are rejected`, send({ limit: 0 }), ["A-27"]),
      rejectedAbove(
        `${noun}.limit-1001`,
        `${noun} with limit 1001 are rejected`,
        inWorkspace(`${noun}(limit: 1001) { __typename }`),
        (listItemsMax) => ({ bounds: { listItemsMax } }),
        ["A-27"],
      ),
    ],
  };
}

const tasks = ofNoun("tasks", "ListTasks", "A-16", "startedAt");
const clients = ofNoun("clients", "ListClients", "A-27", "createdAt");

const completedTaxPrep = shared(
  "tasks.filter-type",
  call("ListTasks", { limit: 5, filters: { types: ["TAX_PREP"], statuses: ["COMPLETED"] } }),
);

/** Whether a filtered list has what fits, next to a list that has other tasks as well. */
const filterRule = (
  id: string,
  title: string,
  filtered: Draft,
  noun: string,
  accepts: (item: Fields) => boolean,
): Rule =>
  ruleOver(id, title, { newest: tasks.newest, found: { id, ...filtered } }, ["A-16"], ({ newest, found }) => {
    if (hasErrors(newest)) return { unknown: "the list of tasks was rejected" };
    const list = listAt(found, tasks.path);
    if (hasErrors(found) || !list) return { rejected: hasErrors(found) ? outcomeOf(found) : "no list" };
    const fits = (item: Shape) => accepts(fieldsOf(item));
    const all = listAt(newest, tasks.path) ?? [];
    if (!list.every(fits)) return "others are listed";
    if (list.length === 0)
      return all.some(fits) ? "nothing is listed" : { unknown: `the workspace has no ${noun}` };
    return all.every(fits) ? { unknown: `the newest tasks are each a ${noun}` } : "what fits is listed";
  });

/** The stages of the newest task that has some, in the order in which they started. A task that was ended by hand has none. */
function stagesOf(list: readonly Shape[]): Fact | Unknown {
  const runs = eachAt(list, "subTasks").filter(Array.isArray) as unknown as readonly (readonly Shape[])[];
  const newest = runs.find(({ length }) => length > 0);
  if (!newest) return { unknown: "the workspace has no completed task of type TAX_PREP with stages" };
  return eachAt(newest, "type").map((type) => wordOf(type) ?? "…");
}

const isCompleted = ({ status }: Fields) => status === "enum:COMPLETED";
const completed = call("ListTasks", { limit: 5, filters: { statuses: ["COMPLETED"] } });
const pastEnd = call("ListTasks", { offset: 1_000_000, limit: 1 });
const beforeStart = call("ListTasks", { offset: -1, limit: 1 });
const withUnknownId = call("ListTasks", { limit: 5, filters: { ids: [unknownId] } });
const aboveHundred = inWorkspace("tasks(limit: 101) { __typename }");

const taskRules: readonly Rule[] = [
  ...tasks.rules,
  ruleOver(
    "tasks.default-limit",
    `a list of tasks without arguments has ${defaultLimit}`,
    { newest: tasks.newest, list: inWorkspace("tasks { __typename }") },
    ["A-16"],
    ({ newest, list }) => {
      if (hasErrors(newest)) return { unknown: "the list of tasks was rejected" };
      if (hasErrors(list)) return { rejected: outcomeOf(list) };
      if ((listAt(newest, tasks.path) ?? []).length < defaultLimit)
        return { unknown: `the workspace has fewer than ${defaultLimit} tasks` };
      return (listAt(list, tasks.path) ?? []).length;
    },
  ),
  listRule("tasks.past-end", "a list past the end is empty", pastEnd, tasks.path, ["A-16"], lengthOf),
  filterRule("tasks.filter-status", "tasks are filtered by status", completed, "completed task", isCompleted),
  filterRule(
    "tasks.filter-type",
    "tasks are filtered by type",
    completedTaxPrep,
    "completed task of type TAX_PREP",
    (task) => task["type"] === "word:TAX_PREP" && isCompleted(task),
  ),
  ruleOver(
    "tasks.filter-id",
    "a task is found by its id",
    {
      newest: tasks.newest,
      one: call(
        "ListTasks",
        ({ of }) => ({ limit: 5, filters: { ids: [of(tasks.newest, `${tasks.path}.0.id`)] } }),
        { absent: "the workspace has no task" },
      ),
    },
    ["A-16"],
    ({ newest, one }) => {
      if (hasErrors(newest) || hasErrors(one)) return { unknown: "a list was rejected" };
      const list = listAt(one, tasks.path) ?? [];
      return { items: list.length, isIt: eachAt(list, "id")[0] === at(newest, `${tasks.path}.0.id`) };
    },
  ),
  listRule("tasks.unknown-id", "an unknown id finds no task", withUnknownId, tasks.path, ["A-16"], lengthOf),
  rule("tasks.limit-101", "a limit above 100 is accepted", aboveHundred, ["A-27"], outcomeOf),
  rejected("tasks.negative-offset", "a negative offset is rejected", beforeStart, ["A-27"]),
  listRule(
    "tasks.stages",
    "a TAX_PREP task has its five stages",
    completedTaxPrep,
    tasks.path,
    {
      assumptions: ["A-18"],
      settings(received) {
        if (!Array.isArray(received) || received.length === 0 || received.includes("…")) return null;
        const stages = received.map((type: Fact) => ({ type: String(type), durationMs: 1_000 }));
        return { tasks: { plans: { TAX_PREP: { progression: "timed", stages } } } };
      },
    },
    stagesOf,
  ),
];

const ofFirstClient = (operation: "GetClient" | "ListClientTasks", more = {}): Draft =>
  call(operation, ({ of }) => ({ id: of(clients.newest, `${clients.path}.0.id`), ...more }), {
    absent: "the workspace has no client",
  });

const tasksOfFirst = ofFirstClient("ListClientTasks", { limit: 5 });

const clientRules: readonly Rule[] = [
  ...clients.rules,
  ruleOver(
    "clients.one",
    "a client is found by its id",
    { newest: clients.newest, one: ofFirstClient("GetClient") },
    ["A-27"],
    ({ newest, one }) => {
      if (hasErrors(one)) return rejectedHere(one);
      const first = at(newest, `${clients.path}.0.id`);
      return { isIt: first !== undefined && at(one, "me.workspace.client.id") === first };
    },
  ),
  rule(
    "clients.unknown",
    "an unknown client is null, without an error",
    call("GetClient", { id: unknownId }),
    ["A-27"],
    (response) => ({
      outcome: outcomeOf(response),
      isNull: at(response, "me.workspace.client") === null,
    }),
  ),
  rule("clients.tasks", "tasks are listed under their client", tasksOfFirst, ["A-16"], outcomeOf),
];

export const listRules: readonly Rule[] = [...taskRules, ...clientRules];
