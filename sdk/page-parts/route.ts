import { useEffect, useState } from "preact/hooks";
import { type Filter, hashOf, parseHash, type Route } from "./address.ts";

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
