import type { Clock } from "@workspace-tasks/kernel/clock.ts";
import * as z from "zod";
import { checkSchema } from "../checks.ts";
import { MockServerError } from "../errors.ts";
import type { Immutable } from "../state/fault.ts";
import type { VirtualClock } from "../time/virtual-clock.ts";
import type { WorldHolder } from "../world/world-holder.ts";
import type { WorldDirectory } from "./worlds.ts";

/** What the calls of a world work on. */
export interface ControlContext {
  readonly worlds: WorldHolder;
  readonly clock: Clock | VirtualClock;
  readonly version: string;
  /** The worlds of the mock; `null` in a named world, which cannot reach the others. */
  readonly directory: WorldDirectory | null;
}

/** Method and path below `/_mock/v1`; `{name}` is one segment of the path. */
type CallText = `${"GET" | "POST" | "PUT" | "PATCH" | "DELETE"} /${string}`;

/** One call of the control API. The handlers, the client, the OpenAPI document and the types derive from it. */
export interface Route<
  Call extends CallText = CallText,
  Input extends z.ZodType | undefined = z.ZodType | undefined,
  Response extends z.ZodType | undefined = z.ZodType | undefined,
> {
  readonly call: Call;
  readonly summary: string;
  readonly status: number;
  /** The query of a GET, the body of every other method; `undefined`: neither. */
  readonly input: Input;
  /** `undefined`: an empty body. */
  readonly response: Response;
  /** Does the work, over HTTP and in this process; gets the id of the path, then the input, then the `CallOptions`. */
  readonly run: (context: ControlContext, ...parameters: never[]) => unknown;
}

export function defineRoute<
  const Call extends CallText,
  Input extends z.ZodType | undefined = undefined,
  Response extends z.ZodType | undefined = undefined,
>(
  call: Call,
  route: {
    readonly summary: string;
    readonly input?: Input;
    readonly response?: Response;
    /** Default: 200, or 204 without a response. */
    readonly status?: number;
    readonly run: (
      context: ControlContext,
      ...parameters: Parameters<Call, Input>
    ) => ResponseOf<Response> | Promise<ResponseOf<Response>>;
  },
): Route<Call, Input, Response> {
  const { summary, input, response, status = response ? 200 : 204, run } = route;
  return {
    call,
    summary,
    status,
    input: input as Input,
    response: response as Response,
    run: run as Route["run"],
  };
}

export interface CallOptions {
  /** Ends the wait for the response. */
  readonly signal?: AbortSignal | undefined;
}

type IdOf<Call extends CallText> = Call extends `${string}{${string}}${string}` ? [id: string] : [];
// A query arrives as text that its schema converts: callers pass what the schema produces.
type ValueOf<Call extends CallText, Input extends z.ZodType> = Immutable<
  Call extends `GET ${string}` ? z.output<Input> : z.input<Input>
>;
type InputOf<Call extends CallText, Input extends z.ZodType | undefined> = Input extends z.ZodType
  ? Record<never, never> extends ValueOf<Call, Input>
    ? [input?: ValueOf<Call, Input>]
    : [input: ValueOf<Call, Input>]
  : [];
/** What a call without a response returns does not count. */
type ResponseOf<Response extends z.ZodType | undefined> = Response extends z.ZodType
  ? z.output<Response>
  : unknown;

type Parameters<Call extends CallText, Input extends z.ZodType | undefined> = [
  ...IdOf<Call>,
  ...InputOf<Call, Input>,
  options?: CallOptions,
];

/** The method of the control API for a route: first the id in its path, then its query or body. */
export type RouteMethod<R extends Route> = (
  ...parameters: Parameters<R["call"], R["input"]>
) => R["response"] extends z.ZodType ? Promise<z.output<R["response"]>> : Promise<void>;

/** What a call was given, not checked: over HTTP, or by a caller in this process. */
export interface GivenCall {
  /** The id of its path, if it has one. */
  readonly ids: readonly string[];
  readonly input: unknown;
  readonly options: CallOptions | undefined;
}

/** Checks the input of a call, and runs it. @throws MockServerError BODY_INVALID, QUERY_INVALID, and what the call throws */
export async function runRoute(route: Route, context: ControlContext, given: GivenCall): Promise<unknown> {
  const input = checkRouteInput(route, given.input ?? {});
  const parameters = [...given.ids, ...(route.input ? [input] : []), given.options];
  const response = await route.run(context, ...(parameters as never[]));
  return route.response && response;
}

export const methodOf = ({ call }: Route): string => call.slice(0, call.indexOf(" "));
export const pathOf = ({ call }: Route): string => call.slice(call.indexOf(" ") + 1);

/** The query or body of a call, checked; a call without input takes none. */
export function checkRouteInput(route: Route, value: unknown): unknown {
  return methodOf(route) === "GET"
    ? checkInput(route.input ?? z.object({}), value, "QUERY_INVALID")
    : checkInput(route.input ?? z.strictObject({}), value, "BODY_INVALID");
}

/** @throws MockServerError that names the fields that are wrong */
function checkInput<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  code: "BODY_INVALID" | "QUERY_INVALID",
): z.output<Schema> {
  const { value: checked, issues } = checkSchema(schema, value);
  if (!issues) return checked;
  const [first] = issues;
  const place = first?.path || (code === "BODY_INVALID" ? "body" : "query");
  throw new MockServerError(code, `${place}: ${first?.message}`, { issues });
}
