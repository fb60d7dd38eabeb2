import type { Project } from "../project.ts";
import { bundlers } from "./bundlers.ts";
import { frameworks } from "./frameworks.ts";
import { pages } from "./pages.ts";
import { runtimes } from "./runtimes.ts";

export const table: readonly Project[] = [...bundlers, ...frameworks, ...runtimes, ...pages];
