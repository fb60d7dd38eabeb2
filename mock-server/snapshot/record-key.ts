/** The key of most records is their id. */
const otherKeys: { readonly [noun: string]: string } = {
  progress: "taskId",
  taskPlans: "taskType",
  catalogAdditions: "name",
};

/** The name of the field by which records of a noun are found. */
export const keyNameOf = (noun: string): string => otherKeys[noun] ?? "id";

export const keyOf = (noun: string, record: object): string =>
  (record as Readonly<Record<string, string>>)[keyNameOf(noun)] ?? "";
