// Names of the operations, without the schema and its parser.

declare const __OPERATION_NAMES__: readonly string[];

/** The top-level fields of the schema, in alphabetical order; inserted by the build. */
export const operationNames = __OPERATION_NAMES__;
