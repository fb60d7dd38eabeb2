import { useEffect, useState } from "preact/hooks";
import { type Filter, hashOf, parseHash, type Route } from "./address.ts";

/** Within a view the history entry is replaced: the back button leaves the view, not the row. */
export function goTo(view: string, id?: string | null, filter: Filter = {}): void {
  const target = hashOf(view, id, filter);
  if (parseHash(location.hash).view !== view) location.hash = target;
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
