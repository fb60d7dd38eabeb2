import { closeBrackets } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { javascript } from "@codemirror/lang-javascript";
import { bracketMatching, HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { EditorState } from "@codemirror/state";
import { EditorView, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";

export interface Editor {
  text(): string;
  show(text: string): void;
}

/**
 * An editor of JavaScript. The Tab key leaves it.
 * @param onRun for Ctrl+Enter, on a Mac Command+Enter
 */
export function createEditor(host: HTMLElement, onRun: () => void): Editor {
  // In a shadow tree the style sheets are no inline elements, which the policy of the page forbids.
  const root = host.attachShadow({ mode: "open" });
  const runProgram = () => {
    onRun();
    return true;
  };
  const extensions = [
    keymap.of([{ key: "Mod-Enter", run: runProgram }, ...defaultKeymap, ...historyKeymap]),
    javascript(),
    lineNumbers(),
    history(),
    bracketMatching(),
    closeBrackets(),
    syntaxHighlighting(colours),
    EditorView.lineWrapping,
    EditorView.contentAttributes.of({ "aria-label": "Program in JavaScript" }),
    theme,
  ];
  const stateOf = (doc: string) => EditorState.create({ doc, extensions });
  const view = new EditorView({ root, parent: root, state: stateOf("") });
  return { text: () => view.state.doc.toString(), show: (text) => view.setState(stateOf(text)) };
}

const colours = HighlightStyle.define([
  { tag: tags.keyword, color: "var(--code-keyword)" },
  { tag: [tags.string, tags.number, tags.bool, tags.null], color: "var(--code-value)" },
  { tag: tags.function(tags.variableName), color: "var(--code-name)" },
  { tag: tags.comment, color: "var(--muted)" },
]);

const theme = EditorView.theme({
  "&": { height: "100%", backgroundColor: "var(--panel)", color: "var(--text)" },
  ".cm-scroller": { fontFamily: "var(--mono)" },
  ".cm-gutters": { backgroundColor: "var(--raised)", color: "var(--muted)", border: "none" },
  ".cm-content": { caretColor: "var(--text)" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
});
