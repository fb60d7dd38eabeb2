import { assumptions } from "../../mock-server/tools/compare/assumptions.ts";

/** Every assumption of the mock, from the table that `compare` uses. */
const assumptionsTable = (): string =>
  [
    "| | subject | choice |",
    "|---|---|---|",
    ...Object.entries(assumptions).map(([id, [subject, choice]]) => `| ${id} | ${subject} | ${choice} |`),
  ].join("\n");

/** The page with the table as it is now. */
export const withAssumptions = (page: string): string =>
  page.replace(/(?:^\|.*\n)+/m, () => `${assumptionsTable()}\n`);
