import { z } from "zod";
import { defineRoute } from "./route.ts";
import type { ScenarioDocument } from "./scenario.ts";

/** Checked in depth by the scenario's own reader, which names the step that is wrong. */
const scenarioBody = z.looseObject({ steps: z.array(z.looseObject({ do: z.string() })) });

export const scenarioRoutes = [
  defineRoute({
    method: "POST",
    path: "/scenarios",
    summary: "Takes the steps of a scenario one after the other; answers when the last one is done.",
    body: scenarioBody,
    answer: z.object({
      steps: z.int().describe("Steps taken, those inside `repeat` each time."),
      answers: z.record(z.string(), z.unknown()).describe("Answers of the steps that have a name."),
    }),
    run: (admin, { body }) => admin.playScenario(body as ScenarioDocument),
  }),
];
