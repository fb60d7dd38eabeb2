import { useEffect, useState } from "preact/hooks";

/** Where the page is: `#/deliveries/<id>` is the place `deliveries` with that id chosen. */
export type Route = { readonly place: string; readonly id: string | null };

export function parseHash(hash: string): Route {
  const [place = "", id] = hash.replace(/^#\/?/, "").split("/");
  return { place: place || "overview", id: id ? decodeURIComponent(id) : null };
}

export function hashOf(place: string, id?: string | null): string {
  return id ? `#/${place}/${encodeURIComponent(id)}` : `#/${place}`;
}

/** Choosing a row replaces the history entry: the back button leaves the place, not the row. */
export function goTo(place: string, id?: string | null): void {
  const target = hashOf(place, id);
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
