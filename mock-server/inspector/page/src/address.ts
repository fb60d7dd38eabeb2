/** Filters of a view by name; an absent one filters nothing. */
export type Filter = Readonly<Record<string, string>>;

/** `#/deliveries/<id>?status=failed`: a view, the id selected in it, and its filters. */
export interface Route {
  readonly view: string;
  readonly id: string | null;
  readonly filter: Filter;
}

export function parseHash(hash: string): Route {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split("?");
  const [view = "", id] = path.split("/");
  return {
    view: view || "overview",
    id: id ? decode(id) : null,
    filter: Object.fromEntries(new URLSearchParams(query)),
  };
}

export function hashOf(view: string, id?: string | null, filter: Filter = {}): string {
  const path = id ? `#/${view}/${encodeURIComponent(id)}` : `#/${view}`;
  const query = new URLSearchParams(Object.entries(filter).filter(([, value]) => value !== ""));
  return query.size === 0 ? path : `${path}?${query}`;
}

/** The part of a window that an address comes from. */
interface AddressSource {
  readonly location: { readonly hash: string };
  addEventListener(type: "hashchange", listener: () => void): void;
  removeEventListener(type: "hashchange", listener: () => void): void;
}

/** Calls `show` with the present route and with every later one, until the returned function is called. */
export function followRoute(source: AddressSource, show: (route: Route) => void): () => void {
  const update = () => show(parseHash(source.location.hash));
  source.addEventListener("hashchange", update);
  // The address may have changed before this listener was there.
  update();
  return () => source.removeEventListener("hashchange", update);
}

/** An address that was typed may contain a lone `%`. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
