import type { ControlsOf } from "../contract/route.ts";
import type { StepControls } from "./play-scenario.ts";
import type { Scenario, scenarioRoutes } from "./scenario-routes.ts";

export function createScenarioControls(controls: StepControls): ControlsOf<typeof scenarioRoutes> {
  return {
    async playScenario(scenario, { signal } = {}) {
      // Loaded when first needed.
      const { playScenario } = await import("./play-scenario.ts");
      return playScenario(controls, scenario as Scenario, signal);
    },
  };
}
