import { checkOverride } from "../../graphql/checks.ts";
import { found } from "../../rules/service-error.ts";
import type { Override } from "../../world/override-store.ts";
import type { WorldHolder } from "../../world/world-holder.ts";
import type { ControlsOf } from "../contract/route.ts";
import type { OverrideView, overrideRoutes } from "./override-routes.ts";

export function createOverrideControls(worlds: WorldHolder): ControlsOf<typeof overrideRoutes> {
  return {
    addOverride({ operation, data, patch, errors, ...options }) {
      const respond = { ...(data === undefined ? {} : { data }), patch, errors };
      checkOverride(worlds.current, operation, respond, options);
      const override = worlds.current.overrides.add({ ...options, operation, respond });
      worlds.current.emit({ type: "overrides.changed" });
      return viewOverride(override);
    },
    listOverrides: () => ({ data: worlds.current.overrides.list().map(viewOverride) }),
    removeOverride(overrideId) {
      const { overrides } = worlds.current;
      found(overrides.get(overrideId), `override "${overrideId}" not found`);
      overrides.remove(overrideId);
      worlds.current.emit({ type: "overrides.changed" });
    },
    clearOverrides() {
      worlds.current.overrides.clear();
      worlds.current.emit({ type: "overrides.changed" });
    },
  };
}

function viewOverride({ respond, ...override }: Override): OverrideView {
  const isFunction = typeof respond === "function";
  const view = { ...override, ...(isFunction ? {} : respond), isFunction };
  return JSON.parse(JSON.stringify(view)) as OverrideView;
}
