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
  const path = id ? `#/${view}/${encode(id)}` : `#/${view}`;
  const query = new URLSearchParams(Object.entries(filter).filter(([, value]) => value !== ""));
  return query.size === 0 ? path : `${path}?${query}`;
}

/** For an address; halves of characters, which have no code of their own, are replaced. */
export const encode = (text: string) => encodeURIComponent(text.replace(/\p{Surrogate}/gu, "\uFFFD"));

/** An address that was typed may contain a lone `%`. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** `Tasks` of the view `tasks`. */
export const titleOf = (view: string) => `${view.charAt(0).toUpperCase()}${view.slice(1)}`;
