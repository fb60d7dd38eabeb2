import type { ControlsOf } from "../contract/route.ts";
import type { scenarioRoutes } from "../contract/scenarios.ts";
import type { StepControls } from "./play-scenario.ts";

export function createScenarioControls(controls: StepControls): ControlsOf<typeof scenarioRoutes> {
  return {
    async playScenario(scenario) {
      // Loaded when first needed, with the schemas of the whole control API.
      const { readScenario } = await import("./read-scenario.ts");
      const { playScenario } = await import("./play-scenario.ts");
      return playScenario(controls, readScenario(scenario));
    },
  };
}
