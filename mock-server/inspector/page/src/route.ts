import { useEffect, useState } from "preact/hooks";
import { type Filter, hashOf, parseHash, type Route } from "./address.ts";

/** Moving within a place replaces the history entry: the back button leaves the place, not the row. */
export function goTo(place: string, id?: string | null, filter: Filter = {}): void {
  const target = hashOf(place, id, filter);
  if (parseHash(location.hash).place !== place) location.hash = target;
  else {
    history.replaceState(null, "", target);
    dispatchEvent(new HashChangeEvent("hashchange"));
  }
}

export function useRoute(): Route {
  const [route, setRoute] = useState(() => parseHash(location.hash));
  useEffect(() => {
    const update = () => setRoute(parseHash(location.hash));
    addEventListener("hashchange", update);
    return () => removeEventListener("hashchange", update);
  }, []);
  return route;
}
