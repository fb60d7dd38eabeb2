import * as z from "zod";
import { checkSchema } from "../checks.ts";
import { MockServerError } from "../errors.ts";
import type { Immutable } from "../state/fault.ts";

/** Method and path below `/_mock/v1`; `{name}` is one segment of the path. */
type CallText = `${"GET" | "POST" | "PUT" | "PATCH" | "DELETE"} /${string}`;

/** One call of the control API. The handler, the client, the OpenAPI document and the types derive from it. */
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
  },
): Route<Call, Input, Response> {
  const { summary, input, response, status = response ? 200 : 204 } = route;
  return { call, summary, status, input: input as Input, response: response as Response };
}

export interface CallOptions {
  /** Ends the wait for the response. */
  readonly signal?: AbortSignal | undefined;
}

type IdOf<Call extends CallText> = Call extends `${string}{${string}}${string}` ? [id: string] : [];
// A query arrives as text that its schema converts: callers pass what the schema produces.
type ValueOf<R extends Route> = R["input"] extends infer Input extends z.ZodType
  ? Immutable<R["call"] extends `GET ${string}` ? z.output<Input> : z.input<Input>>
  : never;
type InputOf<R extends Route> = R["input"] extends undefined
  ? []
  : Record<never, never> extends ValueOf<R>
    ? [input?: ValueOf<R>]
    : [input: ValueOf<R>];
type ResponseOf<R extends Route> = R["response"] extends z.ZodType ? z.output<R["response"]> : undefined;

type Parameters<R extends Route> = [...IdOf<R["call"]>, ...InputOf<R>, options?: CallOptions];

/** The method of the control API for a route: first the id in its path, then its query or body. */
export type RouteMethod<R extends Route> = (
  ...parameters: Parameters<R>
) => R["response"] extends z.ZodType ? Promise<z.output<R["response"]>> : Promise<void>;

/** What implements the routes of one noun. */
export type ControlsOf<Routes extends Readonly<Record<string, Route>>> = {
  readonly [Name in keyof Routes]: (
    ...parameters: Parameters<Routes[Name]>
  ) => ResponseOf<Routes[Name]> | Promise<ResponseOf<Routes[Name]>>;
};

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
