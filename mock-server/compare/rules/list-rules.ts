import { isPlainObject } from "../../plain-object.ts";
import type { ResponseShape, Shape } from "../observe/observation.ts";
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
} from "./read-response.ts";
import { rejection, rejectionWith, toErrorSetting } from "./rejection-rules.ts";
import { type Fact, type Rule, ruleOf, ruleOver, type Unknown } from "./rule.ts";
import { limitFromMessage } from "./webhook-rules.ts";

const tasks = "me.workspace.tasks";
const clients = "me.workspace.clients";
const defaultLimit = 20;

const listRule = (
  id: string,
  probe: string,
  path: string,
  texts: { readonly title: string; readonly assumptions: readonly string[] },
  read: (list: readonly Shape[]) => Fact | Unknown,
): Rule =>
  ruleOf(id, probe, texts, (response) => {
    if (hasErrors(response)) return { rejected: outcomeOf(response) };
    const list = listAt(response, path);
    return list ? read(list) : { rejected: "no list" };
  });

const atLeastTwo = (list: readonly Shape[], noun: string): Unknown | null =>
  list.length < 2 ? { unknown: `the workspace has fewer than two ${noun}` } : null;

const byTime =
  (field: string, noun: string) =>
  (list: readonly Shape[]): Fact | Unknown =>
    atLeastTwo(list, noun) ??
    (isNewestFirst(eachAt(list, field).map(timeOf)) ? "newest first" : "another order");

/** Whether the second list is the second item of the first. Other users may change the workspace meanwhile. */
const secondOf =
  (path: string, noun: string) =>
  ([all, second, again]: readonly ResponseShape[]): Fact | Unknown => {
    if (!all || !second || !again || [all, second, again].some(hasErrors))
      return { unknown: "a list was rejected" };
    const list = listAt(all, path) ?? [];
    const ids = (response: ResponseShape) => eachAt(listAt(response, path) ?? [], "id");
    const few = atLeastTwo(list, noun);
    if (few) return few;
    if (ids(all)[0] !== ids(again)[0] || ids(all)[1] !== ids(again)[1])
      return { unknown: `the workspace's ${noun} changed during the run` };
    return { items: ids(second).length, isSecond: ids(second)[0] === ids(all)[1] };
  };

const limitMaxRule = (id: string, probe: string, title: string): Rule =>
  rejectionWith(id, probe, {
    title,
    assumptions: ["A-27"],
    settings(received, expected) {
      const max = limitFromMessage(received);
      return max === null ? toErrorSetting(received, expected) : { bounds: { listItemsMax: max } };
    },
  });

/** Whether a filtered list has what fits, next to a list that has other tasks as well. */
const filterRule = (
  id: string,
  probe: string,
  title: string,
  noun: string,
  accepts: (item: Readonly<Record<string, Shape>>) => boolean,
): Rule =>
  ruleOver(id, ["tasks.list", probe], { title, assumptions: ["A-16"] }, ([all, found]) => {
    if (!all || !found || hasErrors(all)) return { unknown: "the list of tasks was rejected" };
    if (hasErrors(found)) return { rejected: outcomeOf(found) };
    const fits = (item: Shape) => isPlainObject(item) && accepts(item as Readonly<Record<string, Shape>>);
    const [newest, filtered] = [listAt(all, tasks) ?? [], listAt(found, tasks)];
    if (!filtered) return { rejected: "no list" };
    if (!filtered.every(fits)) return "others are listed";
    if (filtered.length === 0)
      return newest.some(fits) ? "nothing is listed" : { unknown: `the workspace has no ${noun}` };
    if (newest.every(fits)) return { unknown: `the newest tasks are each a ${noun}` };
    return "what fits is listed";
  });

/** The stages of the newest task that has some, in the order in which they started. A task that was ended by hand has none. */
function stagesOf(list: readonly Shape[]): Fact | Unknown {
  const runs = eachAt(list, "subTasks").filter(Array.isArray) as unknown as readonly (readonly Shape[])[];
  const newest = runs.find(({ length }) => length > 0);
  if (!newest) return { unknown: "the workspace has no completed task of type TAX_PREP with stages" };
  return eachAt(newest, "type").map((type) => wordOf(type) ?? "…");
}

export const listRules: readonly Rule[] = [
  ruleOf(
    "tasks.list",
    "tasks.list",
    { title: "tasks are listed under the workspace", assumptions: ["A-16"] },
    outcomeOf,
  ),
  listRule(
    "tasks.order",
    "tasks.list",
    tasks,
    { title: "tasks are listed newest first", assumptions: ["A-16"] },
    byTime("startedAt", "tasks"),
  ),
  ruleOver(
    "tasks.default-limit",
    ["tasks.list", "tasks.default"],
    { title: "a list of tasks without arguments has 20", assumptions: ["A-16"] },
    ([all, list]) => {
      if (!all || !list || hasErrors(all)) return { unknown: "the list of tasks was rejected" };
      if (hasErrors(list)) return { rejected: outcomeOf(list) };
      if ((listAt(all, tasks) ?? []).length < defaultLimit)
        return { unknown: `the workspace has fewer than ${defaultLimit} tasks` };
      return (listAt(list, tasks) ?? []).length;
    },
  ),
  ruleOver(
    "tasks.offset",
    ["tasks.list", "tasks.second", "tasks.again"],
    { title: "offset and limit select tasks by position", assumptions: ["A-16"] },
    secondOf(tasks, "tasks"),
  ),
  listRule(
    "tasks.past-end",
    "tasks.beyond",
    tasks,
    { title: "a list past the end is empty", assumptions: ["A-16"] },
    (list) => list.length,
  ),
  filterRule(
    "tasks.filter-status",
    "tasks.completed",
    "tasks are filtered by status",
    "completed task",
    ({ status }) => status === "enum:COMPLETED",
  ),
  filterRule(
    "tasks.filter-type",
    "tasks.tax-prep",
    "tasks are filtered by type",
    "completed task of type TAX_PREP",
    ({ type, status }) => type === "word:TAX_PREP" && status === "enum:COMPLETED",
  ),
  ruleOver(
    "tasks.filter-id",
    ["tasks.list", "tasks.one"],
    { title: "a task is found by its id", assumptions: ["A-16"] },
    ([all, one]) => {
      if (!all || !one || hasErrors(all) || hasErrors(one)) return { unknown: "a list was rejected" };
      const list = listAt(one, tasks) ?? [];
      return { items: list.length, isIt: eachAt(list, "id")[0] === at(all, `${tasks}.0.id`) };
    },
  ),
  listRule(
    "tasks.unknown-id",
    "tasks.unknown",
    tasks,
    { title: "an unknown id finds no task", assumptions: ["A-16"] },
    (list) => list.length,
  ),
  rejection("tasks.limit-0", "tasks.limit-0", "tasks with limit 0 are rejected", "A-27"),
  ruleOf(
    "tasks.limit-101",
    "tasks.limit-101",
    { title: "a limit above 100 is accepted", assumptions: ["A-27"] },
    outcomeOf,
  ),
  limitMaxRule("tasks.limit-1001", "tasks.limit-1001", "tasks with limit 1001 are rejected"),
  rejection("tasks.negative-offset", "tasks.offset-negative", "a negative offset is rejected", "A-27"),
  {
    ...listRule(
      "tasks.stages",
      "tasks.tax-prep",
      tasks,
      { title: "a TAX_PREP task has its five stages", assumptions: ["A-18"] },
      stagesOf,
    ),
    settings(received) {
      if (!Array.isArray(received) || received.length === 0 || received.includes("…")) return null;
      const stages = received.map((type: Fact) => ({ type: String(type), durationMs: 1_000 }));
      return { tasks: { plans: { TAX_PREP: { mode: "timed", stages } } } };
    },
  },
  ruleOf(
    "clients.list",
    "clients.list",
    { title: "clients are listed under the workspace", assumptions: ["A-27"] },
    outcomeOf,
  ),
  listRule(
    "clients.order",
    "clients.list",
    clients,
    { title: "clients are listed newest first", assumptions: ["A-27"] },
    byTime("createdAt", "clients"),
  ),
  ruleOver(
    "clients.offset",
    ["clients.list", "clients.second", "clients.again"],
    { title: "offset and limit select clients by position", assumptions: ["A-27"] },
    secondOf(clients, "clients"),
  ),
  rejection("clients.limit-0", "clients.limit-0", "clients with limit 0 are rejected", "A-27"),
  limitMaxRule("clients.limit-1001", "clients.limit-1001", "clients with limit 1001 are rejected"),
  ruleOf("clients.one", "clients.one", { title: "a client is found by its id" }, (response, evidence) => {
    const list = evidence.get("clients.list");
    const first = list?.outcome === "response" ? at(list.response, `${clients}.0.id`) : undefined;
    if (hasErrors(response)) return rejectedHere(response);
    return { isIt: first !== undefined && at(response, "me.workspace.client.id") === first };
  }),
  ruleOf(
    "clients.unknown",
    "clients.unknown",
    { title: "an unknown client is null, without an error" },
    (response) => ({
      outcome: outcomeOf(response),
      isNull: at(response, "me.workspace.client") === null,
    }),
  ),
  ruleOf(
    "clients.tasks",
    "clients.tasks",
    { title: "tasks are listed under their client", assumptions: ["A-16"] },
    outcomeOf,
  ),
];
