import { useEffect, useRef, useState } from "preact/hooks";
import { hashOf } from "../../address.ts";
import type { SearchHit } from "../../api-types.ts";
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

interface Choice {
  readonly kind: string;
  readonly href: string;
  readonly title: string;
  readonly detail: string;
}

async function find(text: string): Promise<readonly Choice[]> {
  const { data } = await control.search({ text: text.slice(0, 500) }).catch(() => ({ data: [] }));
  return [
    ...data.map((hit) => ({ ...hit, href: addressOf(hit) })),
    ...lists.map((list) => ({
      kind: "list",
      href: hashOf(list, null, { text }),
      title: `All ${list} that contain it`,
      detail: "",
    })),
  ];
}

/** One field for everything: an id opens its object, other text offers what contains it. */
export function Search() {
  const field = useRef<HTMLInputElement>(null);
  const [text, setText] = useState("");
  const [isOpen, setOpen] = useState(false);
  const [at, setAt] = useState(0);
  const found = useSearch(text.trim());
  const choices = found?.choices ?? [];
  useKeys({ "/": () => field.current?.select() });
  const open = (choice: Choice | undefined) => {
    if (!choice) return;
    location.hash = choice.href;
    setOpen(false);
    field.current?.blur();
  };
  const submit = async () => {
    const searched = text.trim();
    if (searched === "") return;
    // What was pasted just now has not been searched yet.
    const choice = found?.text === searched ? choices[at] : (await find(searched))[0];
    if (field.current?.value.trim() === searched) open(choice);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const last = choices.length - 1;
    if (event.key === "Escape") {
      setOpen(false);
      field.current?.blur();
    } else if (event.key === "Enter") void submit();
    else if (event.key === "ArrowDown") setAt(Math.min(last, at + 1));
    else if (event.key === "ArrowUp") setAt(Math.max(0, at - 1));
    else return;
    event.preventDefault();
  };
  const isShown = isOpen && text.trim() !== "" && found !== null;
  return (
    <search class="search">
      <input
        ref={field}
        type="search"
        role="combobox"
        aria-label="Search everything"
        aria-expanded={isShown}
        aria-controls="search-results"
        aria-autocomplete="list"
        aria-activedescendant={isShown ? `search-${at}` : undefined}
        autocomplete="off"
        spellcheck={false}
        placeholder="Search ids, clients, URLs, bodies …  /"
        value={text}
        onFocus={() => setOpen(true)}
        onBlur={() => setOpen(false)}
        onInput={(event) => {
          setText(event.currentTarget.value);
          setAt(0);
          setOpen(true);
        }}
        onKeyDown={onKeyDown}
      />
      <div id="search-results" class="results" role="listbox" aria-label="Search results" hidden={!isShown}>
        {choices.map((choice, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the field takes the keys.
          <div
            key={choice.href}
            id={`search-${index}`}
            role="option"
            tabIndex={-1}
            aria-selected={index === at}
            // The field keeps the focus, or it would close the list before the click.
            onMouseDown={(event) => event.preventDefault()}
            onClick={() => open(choice)}
          >
            <span class="muted">{choice.kind}</span>
            <span>{choice.title}</span>
            <span class="muted">{choice.detail}</span>
          </div>
        ))}
      </div>
    </search>
  );
}

interface Found {
  readonly text: string;
  readonly choices: readonly Choice[];
}

function useSearch(text: string): Found | null {
  const [found, setFound] = useState<Found | null>(null);
  useEffect(() => {
    let isStale = false;
    if (text === "") return setFound(null);
    const search = async () => {
      const choices = await find(text);
      if (!isStale) setFound({ text, choices });
    };
    const timer = setTimeout(() => void search(), pauseMs);
    return () => {
      isStale = true;
      clearTimeout(timer);
    };
  }, [text]);
  return found;
}
