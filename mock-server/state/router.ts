import * as z from "zod";

/** The two GraphQL routers: `/graphql` and `/gateway/graphql`. */
export const routerNames = z.enum(["base", "gateway"]);
export type Router = z.infer<typeof routerNames>;
