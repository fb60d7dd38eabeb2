import type { z } from "zod";
import type { Admin } from "./admin.ts";

/** One call of the control API: what it takes, what it gives, and how the twin in this process is asked. */
export type Route = {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Below `/_mock/v1`; `{name}` stands for one segment. */
  readonly path: string;
  readonly summary: string;
  readonly body?: z.ZodType;
  readonly query?: z.ZodType;
  readonly status: number;
  /** What the answer looks like; absent: an empty body. */
  readonly answer?: z.ZodType;
  /** `run` gives the answer as JSON text already. */
  readonly answersText?: boolean;
  run(admin: Admin, input: RouteInput): unknown;
};

export type RouteInput = {
  readonly params: Readonly<Record<string, string>>;
  readonly body: never;
  readonly query: never;
  /** Fires when the caller has gone. */
  readonly signal: AbortSignal;
};

/** Ties the input of `run` to the schemas beside it. */
export function defineRoute<
  Path extends string,
  Body extends z.ZodType = z.ZodUndefined,
  Query extends z.ZodType = z.ZodUndefined,
  Answer extends z.ZodType = z.ZodType<undefined>,
>(route: {
  readonly method: Route["method"];
  readonly path: Path;
  readonly summary: string;
  readonly body?: Body;
  readonly query?: Query;
  readonly status?: number;
  readonly answer?: Answer;
  run(
    admin: Admin,
    input: {
      readonly params: { readonly [Name in ParameterOf<Path>]: string };
      readonly body: z.output<Body>;
      readonly query: z.output<Query>;
      readonly signal: AbortSignal;
    },
  ): z.input<Answer> | Promise<z.input<Answer>>;
}): Route {
  const status = route.status ?? (route.answer ? 200 : 204);
  return { ...route, status } as unknown as Route;
}

type ParameterOf<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? Name | ParameterOf<Rest>
  : never;
