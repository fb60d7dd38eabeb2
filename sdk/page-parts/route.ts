import { useEffect, useState } from "preact/hooks";

/**
 * Another view is a new entry of the history, and so is the first row that is selected in a list: the back button
 * returns to the list. Another row, or another filter, replaces the entry.
 */
export function goTo(view: string, id?: string | null, filter: Filter = {}): void {
  const target = hashOf(view, id, filter);
  const current = parseHash(location.hash);
  if (current.view !== view) {
    location.hash = target;
    return;
  }
  const list = hashOf(view, null, filter);
  if (id && !current.id) history.pushState({ list }, "", target);
  else if (!id && current.id && listBehind() === list) {
    history.back();
    return;
  } else history.replaceState(history.state, "", target);
  dispatchEvent(new HashChangeEvent("hashchange"));
}

/** The address of the list that the present row was selected in, when it is the entry before. */
const listBehind = () => (history.state as { readonly list?: string } | null)?.list;

export function useRoute(): Route {
  const [hash, setHash] = useState(location.hash);
  useEffect(() => {
    const update = () => setHash(location.hash);
    addEventListener("hashchange", update);
    // The address may have changed before this listener was there.
    update();
    return () => removeEventListener("hashchange", update);
  }, []);
  return parseHash(hash);
}

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

/** A text in an address; halves of characters, which have no code of their own, are replaced. */
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
