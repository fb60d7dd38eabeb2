/** Filters of a place by name; what is not filtered is not there. */
export type Filter = Readonly<Record<string, string>>;

/** Where the page is: `#/deliveries/<id>?status=failed` is a place, the id chosen there, and its filters. */
export type Route = { readonly place: string; readonly id: string | null; readonly filter: Filter };

export function parseHash(hash: string): Route {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split("?");
  const [place = "", id] = path.split("/");
  return {
    place: place || "overview",
    id: id ? decode(id) : null,
    filter: Object.fromEntries(new URLSearchParams(query)),
  };
}

export function hashOf(place: string, id?: string | null, filter: Filter = {}): string {
  const path = id ? `#/${place}/${encodeURIComponent(id)}` : `#/${place}`;
  return withQuery(path, filter);
}

/** A path with those parameters that say something. */
export function withQuery(path: string, parameters: Filter): string {
  const set = Object.entries(parameters).filter(([, value]) => value !== "");
  return set.length === 0 ? path : `${path}?${new URLSearchParams(set)}`;
}

/** An address typed by hand may hold a lone `%`. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
