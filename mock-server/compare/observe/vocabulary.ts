// Redaction keeps what is on a list and nothing else. These are the lists.

import { isEnumType, isInputObjectType, isInterfaceType, isObjectType } from "graphql";
import { eventCatalog } from "../../../sdk/events/catalog.ts";
import { routerSchema } from "../../graphql/router-schema.ts";

/** Fields with text from an open set of the service's own words, such as a status. They never hold client data. */
export const wordFields: ReadonlySet<string> = new Set([
  "Workspace.status",
  "Workspace.workspaceType",
  "WorkspaceShortDetails.status",
  "WebhookEndpoint.eventTypes",
  "WebhookEventType.name",
  "WebhookEventType.version",
  "WebhookEventType.status",
  "WebhookEventType.taskTypes",
  "Task.type",
  "SubTask.type",
  "Client.status",
  "Client.returnType",
  "TaskTaxPrepResult.returnType",
  "TaskUnknownResult.taskType",
  "ProviderConnection.status",
  "ProviderConnection.action",
  "ConnectionJob.status",
  "AddedUser.role",
]);

/** A word of the service's own: an identifier such as `tax-extraction`, `F1040` or `task.running`. */
export const isWord = (text: string): boolean =>
  /^[A-Za-z][A-Za-z0-9]{0,24}([._-][A-Za-z0-9]{1,24}){0,4}$/.test(text) &&
  !/[0-9a-f]{8}-[0-9a-f]{4}-/i.test(text);

let names: ReadonlySet<string> | undefined;

/** Names of types, fields, arguments and enum values of the contract. */
export function contractNames(): ReadonlySet<string> {
  names ??= new Set((["base", "gateway"] as const).flatMap(namesOfRouter));
  return names;
}

function namesOfRouter(router: "base" | "gateway"): readonly string[] {
  const types = Object.values(routerSchema(router).getTypeMap());
  return types.flatMap((type) => {
    if (isEnumType(type)) return [type.name, ...type.getValues().map(({ name }) => name)];
    if (!isObjectType(type) && !isInterfaceType(type) && !isInputObjectType(type)) return [type.name];
    const names = [type.name, ...Object.keys(type.getFields())];
    if (isInputObjectType(type)) return names;
    const fields = Object.values(type.getFields());
    return [...names, ...fields.flatMap(({ args }) => args.map(({ name }) => name))];
  });
}

export const eventNames: ReadonlySet<string> = new Set(eventCatalog.map(({ name }) => name));

/** Words of error messages that are names as well. */
export const nameLike: ReadonlySet<string> = new Set(
  "bad bearer day field grace key long mail may own page path post read short wait work works young".split(
    " ",
  ),
);

/** Words of error messages that say nothing about a client; those that may be a name are in `nameLike`. */
export const messageWords: ReadonlySet<string> = new Set(
  `a above absent accept accepted accepts access account action active add added address addresses admin administrator after all
  allow allowed already also an and another any api are argument arguments array as at attached attempt attempts auth
  authenticated authentication authorization authorized authorised available bad base be bearer because been before below
  between blank body boolean both but by bytes call called caller calls can cannot changed character characters check
  client clients code collect collected complete completed connection connections contain contained contains content could count
  create created current cursor date day days default defined delete deleted denied deprecated description did
  disabled disconnected document documents does doesn duplicate each either email emails empty enabled encountered end
  endpoint endpoints entry enum error errors event events exceeded exceeds exist existing exists expected expired expiry
  external failed failure false field fields filter filters first firm for forbidden format found from further given
  global grace graphql greater has have header headers hour hours http https id identifier identifiers ids import in
  inactive input inputs insufficient int integer internal into introspection invalid is isn it item items iterator its job
  jobs json jwt key keys kind last least length less lifetime limit limited list literal longer long login loopback
  mail malformed malicious many match maximum may mean membership message method min minimum minute minutes missing mode
  more most must mutation mutations name named names needs negative new next no non none not null number object of on unparsable
  off offset once one only operation operations or other out outside over own owner page parameter parse partner path
  payload pending period permission permissions permitted personal platform positive post privileges process processed
  provide provided provider quantity query range rate read reached received refresh refused reject rejected
  request requested requests require required requires resource response retry return returned returns revoked role
  router running scalar scope second seconds secret selection sent server service session set short should
  signature signing single size slow so some something source start started state status string subscription supplied
  supported syntax syntaxerror take taken task tasks text than that the their there this times to token tokens too
  transport true try type types unable unauthenticated unauthorised unauthorized undefined unexpected unexpectedly unique
  unknown unsupported until update updated upload uploads uri url use used user users uuid valid validation value values
  variable variables version was way web webhook webhooks went were when which while with within without work works
  workspace workspaces wrong year yet you your zero archived busy cancelled closed compatible conflict constraint cors csrf
  cursors dependency downstream element exception expiration feature gateway gone illegal incompatible incomplete inconsistent
  integration invalidated issue legacy locked maintenance match mismatch multiple network obsolete organization outdated overload
  overloaded paused persisted plan precondition prevented previous protected quota recently reached redirect reserved restricted
  schema security seen server servers simultaneous state stale subject subscription suspended tenant throttled throttling
  timeout timed transaction trial unable unavailable unprocessable upgrade upstream verification verified verify violated
  violation wait whitelisted`.split(/\s+/),
);
