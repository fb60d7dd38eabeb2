import { BaseSequencer, type TestSpecification } from "vitest/node";
import { longestFiles } from "./longest-files.ts";

/** Starts the longest files first, so that all workers end together, on a machine without results of earlier runs too. */
export class LongestFirst extends BaseSequencer {
  override async sort(specifications: TestSpecification[]): Promise<TestSpecification[]> {
    const places = new Map(longestFiles.map((file, place) => [file, place]));
    const placeOf = ({ moduleId, project }: TestSpecification) =>
      places.get(moduleId.slice(project.config.root.length + 1).replaceAll("\\", "/")) ?? places.size;
    return [...specifications].sort((a, b) => placeOf(a) - placeOf(b) || (a.moduleId < b.moduleId ? -1 : 1));
  }
}
