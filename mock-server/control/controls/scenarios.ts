import type { ControlsOf } from "../contract/route.ts";
import type { Scenario, scenarioRoutes } from "../contract/scenarios.ts";
import type { StepControls } from "./play-scenario.ts";

export function createScenarioControls(controls: StepControls): ControlsOf<typeof scenarioRoutes> {
  return {
    async playScenario(scenario, { signal } = {}) {
      // Loaded when first needed.
      const { playScenario } = await import("./play-scenario.ts");
      return playScenario(controls, scenario as Scenario, signal);
    },
  };
}
