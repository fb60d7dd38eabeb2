// The parts of the table.
import type { Project } from "../project.ts";
import { bundlers } from "./bundlers.ts";
import { frameworks } from "./frameworks.ts";
import { orms } from "./orm.ts";
import { pageFrameworks } from "./page-frameworks.ts";
import { pages } from "./pages.ts";
import { peers } from "./peers.ts";
import { readme } from "./readme.ts";
import { runtimes } from "./runtimes.ts";
import { serverless } from "./serverless.ts";
import { sizes } from "./sizes.ts";
import { testRunners } from "./test-runners.ts";
import { types } from "./types.ts";

export const table: readonly Project[] = [
  ...runtimes,
  ...bundlers,
  ...frameworks,
  ...pageFrameworks,
  ...serverless,
  ...orms,
  ...testRunners,
  ...peers,
  ...types,
  ...readme,
  ...sizes,
  ...pages,
];
