import * as z from "zod";
import type { Immutable } from "../state/fault.ts";
import { connectionStatusSchema, jobStatusSchema, keyAccessSchema, roleSchema } from "../state/records.ts";

// Records that tests refer to by name. A name is unique within its list.

const name = z.string().trim().min(1).max(200);

const listBy = <Item extends z.ZodType<object>>(item: Item, field: string) =>
  z
    .array(item)
    .max(10_000)
    .superRefine((items, context) => {
      const positions = new Map<unknown, number>();
      for (const [index, each] of items.entries()) {
        const value: unknown = Reflect.get(each, field);
        const first = positions.get(value);
        if (first === undefined) positions.set(value, index);
        else
          context.addIssue({ code: "custom", path: [index, field], message: `equals that of item ${first}` });
      }
    });

const member = z.strictObject({
  email: z.string().regex(/^[^\s@]+@[^\s@]+$/, "expected an email address"),
  name: name.optional().describe("Default: the part of the address before the @."),
  role: roleSchema.optional().describe("Default: `admin`."),
  access: keyAccessSchema.optional().describe("What the member's API key may do. Default: `read_write`."),
});

const client = z.strictObject({
  name,
  externalId: name.optional().describe("Default: the name."),
  returnType: name.optional().describe("Default: `F1040`."),
  taxYear: z.int().min(1_900).max(2_200).optional().describe("Default: last year."),
});

const job = z.strictObject({ name, status: jobStatusSchema.optional().describe("Default: `pending`.") });

const connection = z.strictObject({
  name,
  providerKey: name.optional().describe("Default: the name."),
  status: connectionStatusSchema.optional().describe("Default: `active`."),
  settings: z.record(z.string(), z.unknown()).optional().describe("What the collect step stored."),
  jobs: listBy(job, "name").optional(),
});

const endpoint = z.strictObject({
  url: z.string(),
  eventTypes: z.array(z.string()).nullable().optional().describe("Default: `null`, every event."),
});

const workspace = z.strictObject({
  name,
  firmSize: z.enum(["xs", "sm", "md", "lg", "xl"]).optional(),
  members: listBy(member, "email")
    .min(1)
    .optional()
    .describe("Each has one API key. Default: `admin@example.com`, an administrator."),
  clients: listBy(client, "name").optional(),
  connections: listBy(connection, "name").optional(),
  endpoints: listBy(endpoint, "url").optional(),
});

export const seedPlanSchema = z.strictObject({
  workspaces: listBy(workspace, "name")
    .min(1)
    .describe("The mock's own workspace is the first one, and its own API key that of the first member."),
});

/** Records that a mock has at its start, or that are added to it, by name. */
export type SeedPlan = Immutable<z.input<typeof seedPlanSchema>>;
export type WorkspaceSeed = SeedPlan["workspaces"][number];
export type MemberSeed = NonNullable<WorkspaceSeed["members"]>[number];
export type ClientSeed = NonNullable<WorkspaceSeed["clients"]>[number];
export type ConnectionSeed = NonNullable<WorkspaceSeed["connections"]>[number];
export type JobSeed = NonNullable<ConnectionSeed["jobs"]>[number];
