import { type ComponentChildren, createContext, type TargetedInputEvent } from "preact";
import { useContext, useEffect, useLayoutEffect, useState } from "preact/hooks";
import { useLive } from "./state.ts";

export type Tone = "run" | "good" | "bad" | "wait" | "calm";

interface NoticeProps {
  readonly tone: Tone;
  /** An alert is read aloud at once. */
  readonly isAlert?: boolean;
  /** The code of a finding. */
  readonly code?: string;
  readonly children: ComponentChildren;
}

/** A message in the colour of its tone. */
export function Notice({ tone, isAlert = false, code, children }: NoticeProps) {
  return (
    <div class={`notice tone-${tone}`} role={isAlert ? "alert" : undefined} data-code={code}>
      {children}
    </div>
  );
}

export interface ButtonProps {
  readonly label: ComponentChildren;
  /** What it is called where its label alone is not clear. Default: the label. */
  readonly name?: string | undefined;
  readonly class?: string | undefined;
}

/** A button that changes the page alone. */
export const Button = ({ label, name, ...more }: ButtonProps & { readonly onClick: () => void }) => (
  <button type="button" aria-label={name} {...more}>
    {label}
  </button>
);

/** A link that looks like a button. */
export const LinkButton = ({ label, href }: { readonly label: string; readonly href: string }) => (
  <a class="button" href={href}>
    {label}
  </a>
);

export type Options = readonly (string | { readonly value: string; readonly text: string })[];

export const valuesOf = (options: Options): readonly string[] =>
  options.map((option) => (typeof option === "string" ? option : option.value));

interface SelectProps {
  readonly label: string;
  readonly value: string;
  /** Text of the empty choice, if there is one. */
  readonly every?: string | undefined;
  readonly options: Options;
  readonly class?: string | undefined;
  /** Whether the key `f` moves the focus here. */
  readonly isFilter?: boolean | undefined;
  readonly onSelect: (value: string) => void;
}

export function Select({ label, value, every, options, class: style, isFilter, onSelect }: SelectProps) {
  return (
    <select
      data-filter={isFilter || undefined}
      aria-label={label}
      class={style}
      value={value}
      onChange={(event) => onSelect(event.currentTarget.value)}
    >
      {every && <option value="">{every}</option>}
      {options.map((option) => {
        const { value, text } = typeof option === "string" ? { value: option, text: option } : option;
        return (
          <option key={value} value={value}>
            {text}
          </option>
        );
      })}
    </select>
  );
}

/** A choice with its label above it. */
export const SelectField = (props: SelectProps) => (
  <label>
    {props.label}
    <Select {...props} />
  </label>
);

interface TextFieldProps {
  readonly label: string;
  readonly value: string;
  readonly type?: "text" | "url" | "password";
  readonly placeholder?: string;
  readonly class?: string;
  /** A text of several lines has so many. */
  readonly rows?: number;
  readonly onInput: (value: string) => void;
}

/** A field with its label above it, for text that the browser must not correct. */
export function TextField({ label, rows, onInput, ...more }: TextFieldProps) {
  const attributes = {
    ...more,
    spellcheck: false,
    autocomplete: "off",
    onInput: (event: TargetedInputEvent<HTMLInputElement | HTMLTextAreaElement>) =>
      onInput(event.currentTarget.value),
  } as const;
  return (
    // biome-ignore lint/a11y/noLabelWithoutControl: either of the two is its control.
    <label>
      {label}
      {rows === undefined ? <input {...attributes} /> : <textarea rows={rows} {...attributes} />}
    </label>
  );
}

interface TogglesProps<Name> {
  readonly label: string;
  readonly names: readonly Name[];
  readonly pressed: Name;
  readonly onPress: (name: Name) => void;
}

/** Buttons of which one is pressed. */
export const Toggles = <Name extends string>({ label, names, pressed, onPress }: TogglesProps<Name>) => (
  <fieldset class="segments" aria-label={label}>
    {names.map((name) => (
      <button key={name} type="button" aria-pressed={name === pressed} onClick={() => onPress(name)}>
        {name}
      </button>
    ))}
  </fieldset>
);

type Work = () => unknown;

const Runner = createContext({ isBusy: false, run: async (_: Work) => {} });

interface ActionsProps {
  readonly class?: string;
  readonly children: ComponentChildren;
}

/** A line of buttons, which act one at a time; why an action was rejected is shown at its end. */
export function Actions({ class: style = "tools", children }: ActionsProps) {
  const [isBusy, setBusy] = useState(false);
  const [failure, setFailure] = useState<string | null>(null);
  const run = async (work: Work) => {
    setBusy(true);
    setFailure(null);
    try {
      await work();
    } catch (error) {
      setFailure(error instanceof Error ? error.message : String(error));
    } finally {
      setBusy(false);
    }
  };
  return (
    <Runner.Provider value={{ isBusy, run }}>
      <div class={style}>
        {children}
        {failure && (
          <Notice tone="bad" isAlert>
            {failure} <Button label="✕" name="✕, dismiss" class="quiet" onClick={() => setFailure(null)} />
          </Notice>
        )}
      </div>
    </Runner.Provider>
  );
}

interface ActionButtonProps extends ButtonProps {
  readonly onRun: Work;
  /** A key that does the same. */
  readonly shortcut?: string | undefined;
  /**
   * For what cannot be undone, or has an effect outside of the server: the first press asks, a second one confirms; a
   * double click only asks.
   */
  readonly asksFirst?: boolean | undefined;
  readonly disabled?: boolean | undefined;
}

/** A button of `Actions`. A disabled one would lose the focus: while an action runs, presses are ignored. */
export function ActionButton({ onRun, shortcut, name, asksFirst, ...props }: ActionButtonProps) {
  const { isBusy, run } = useContext(Runner);
  // Without a server no action can succeed.
  const isLost = useLive((state) => state.connection === "lost");
  const disabled = isLost || props.disabled;
  const [asked, setAsked] = useTemporary<true>(4_000);
  const press = (clicks = 1) => {
    if (isBusy || disabled || (asksFirst && clicks > 1)) return;
    setAsked(asksFirst && !asked ? true : null);
    if (asked || !asksFirst) void run(onRun);
  };
  useKeys(shortcut ? { [shortcut]: press } : {});
  return (
    <button
      type="button"
      class={props.class}
      aria-label={asked ? undefined : name}
      aria-disabled={isBusy || undefined}
      disabled={disabled}
      onClick={({ detail: clicks }) => press(clicks)}
    >
      {asked ? "Press again to confirm" : props.label}
    </button>
  );
}

interface CopyButtonProps {
  readonly label: string;
  /** The text, or what creates it when the button is pressed. */
  readonly text: string | (() => string | Promise<string>);
  readonly class?: string | undefined;
  /** What the button is called. Default: the label. */
  readonly name?: string | undefined;
}

/** Copies a text, and shows for a moment whether the browser allowed it. */
export function CopyButton({ label, text, class: style, name }: CopyButtonProps) {
  const [outcome, setOutcome] = useTemporary<string>(2_500);
  const copy = async () => {
    try {
      const copied = await copyText(typeof text === "string" ? text : await text());
      setOutcome(copied ? "Copied" : "The browser did not allow it");
    } catch (error) {
      setOutcome(error instanceof Error ? error.message : String(error));
    }
  };
  return (
    <button
      type="button"
      class={style}
      aria-label={outcome ?? name}
      onClick={() => void copy()}
      aria-live="polite"
    >
      {outcome ?? label}
    </button>
  );
}

/** Copies a text. Over plain http from another host there is no clipboard, but a selected text can still be copied. */
async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copySelected(text);
  }
}

function copySelected(text: string): boolean {
  const focused = document.activeElement;
  const area = document.createElement("textarea");
  area.value = text;
  area.style.position = "fixed";
  area.style.opacity = "0";
  document.body.append(area);
  area.select();
  try {
    return document.execCommand("copy");
  } catch {
    return false;
  } finally {
    area.remove();
    if (focused instanceof HTMLElement) focused.focus();
  }
}

/** Whether a key press is input of a field, not of the page. */
function isTyping(event: KeyboardEvent): boolean {
  // An editor in a shadow tree is not the target, but the first of the path.
  const [target] = event.composedPath();
  if (!(target instanceof HTMLElement)) return false;
  if (target.isContentEditable) return true;
  return /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName) || target.closest("dialog") !== null;
}

/** Calls what belongs to a key when it is pressed outside of fields, or to `Mod-` and a key wherever it is pressed. */
export function useKeys(actions: Readonly<Record<string, (() => void) | undefined>>): void {
  // The listener changes with the page that is drawn, and not after its next frame: keys act on the rows that are
  // shown.
  useLayoutEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      const isMod = event.ctrlKey || event.metaKey;
      const action = actions[`${isMod ? "Mod-" : ""}${event.key}`];
      if (!action || event.altKey || (!isMod && isTyping(event))) return;
      event.preventDefault();
      action();
    };
    addEventListener("keydown", onKeyDown);
    return () => removeEventListener("keydown", onKeyDown);
  });
}

/** A value that is `null` again some time after it was set. */
export function useTemporary<Value>(durationMs: number) {
  const [value, setValue] = useState<Value | null>(null);
  useEffect(() => {
    if (value === null) return;
    const timer = setTimeout(() => setValue(null), durationMs);
    return () => clearTimeout(timer);
  }, [value]);
  return [value, setValue] as const;
}
