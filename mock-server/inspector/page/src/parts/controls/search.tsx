import type { SearchHit } from "@workspace-tasks/mock-server/control";
import { useEffect, useRef, useState } from "preact/hooks";
import { hashOf } from "../../address.ts";
import { control } from "../../state/resource.ts";
import { useKeys } from "./keys.ts";
import "./search.css";

/** A pause in typing after which the mock searches. */
const pauseMs = 120;

const addressOf = ({ kind, id }: SearchHit): string =>
  ({
    task: hashOf("tasks", id),
    client: hashOf("tasks", null, { text: id }),
    delivery: hashOf("deliveries", id),
    endpoint: hashOf("endpoints", id),
    request: hashOf("requests", id),
  })[kind];

/** The lists that can show everything that contains the text. */
const lists = ["tasks", "deliveries", "requests"];

interface Found {
  readonly text: string;
  readonly links: readonly {
    readonly kind: string;
    readonly href: string;
    readonly title: string;
    readonly detail?: string;
  }[];
}

async function find(text: string): Promise<Found> {
  if (text === "") return nothing;
  const { data } = await control.search({ text: text.slice(0, 500) }).catch(() => ({ data: [] }));
  const all = lists.map((list) => ({
    kind: "list",
    href: hashOf(list, null, { text }),
    title: `All ${list} that contain it`,
  }));
  return { text, links: [...data.map((hit) => ({ ...hit, href: addressOf(hit) })), ...all] };
}

const nothing: Found = { text: "", links: [] };

/** One field for everything: an id opens its object, other text offers links to what contains it. */
export function Search() {
  const box = useRef<HTMLElement>(null);
  const [typed, setTyped] = useState("");
  const [found, setFound] = useState(nothing);
  const text = typed.trim();
  useEffect(() => {
    let isStale = false;
    const search = () => find(text).then((read) => isStale || setFound(read));
    const timer = setTimeout(() => void search(), pauseMs);
    return () => {
      isStale = true;
      clearTimeout(timer);
    };
  }, [text]);
  useKeys({ "/": () => box.current?.querySelector("input")?.select() });
  const close = () => (document.activeElement as HTMLElement | null)?.blur();
  const openFirst = async () => {
    // What was pasted just now has not been searched yet.
    const [first] = (found.text === text ? found : await find(text)).links;
    if (!first) return;
    location.hash = first.href;
    close();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === "Escape") close();
    else if (event.key === "Enter" && event.target instanceof HTMLInputElement) void openFirst();
    else if (step !== undefined) {
      const stops = [...(box.current?.querySelectorAll<HTMLElement>("input, a") ?? [])];
      stops[stops.indexOf(event.target as HTMLElement) + step]?.focus();
    } else return;
    event.preventDefault();
  };
  return (
    <search class="search" ref={box} onKeyDown={onKeyDown}>
      <input
        type="search"
        aria-label="Search everything"
        autocomplete="off"
        spellcheck={false}
        placeholder="Search ids, clients, URLs, bodies …  /"
        value={typed}
        onInput={(event) => setTyped(event.currentTarget.value)}
      />
      {found.text !== "" && (
        // A press of the mouse leaves the focus where it is, or the links would be gone before the click.
        <nav class="results" aria-label="Search results" onMouseDown={(event) => event.preventDefault()}>
          {found.links.map(({ kind, href, title, detail }) => (
            <a key={href} href={href} onClick={close}>
              <span class="muted">{kind}</span>
              <span>{title}</span>
              <span class="muted">{detail}</span>
            </a>
          ))}
        </nav>
      )}
    </search>
  );
}
