/** Task types with events, according to the catalog. An open set. @see interface §6 */
export const catalogTaskTypes = ["BINDER", "TAX_PREP", "TAX_REVIEW", "TAX_ADVISOR", "TAX_PREP_LITE"] as const;

/** A task type of the catalog, or any other string. */
export type TaskType = (typeof catalogTaskTypes)[number] | (string & {});
