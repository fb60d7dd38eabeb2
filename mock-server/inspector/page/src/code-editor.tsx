import {
  autocompletion,
  closeBrackets,
  closeBracketsKeymap,
  completionKeymap,
} from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { bracketMatching, HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { EditorState } from "@codemirror/state";
import { EditorView, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { graphql } from "cm6-graphql";
import type { GraphQLSchema } from "graphql";
import { useEffect, useRef } from "preact/hooks";

// CodeMirror writes its style sheets with the CSS object model when it is in a shadow tree, and as an inline element
// otherwise, which the Content-Security-Policy forbids.
interface Props {
  readonly label: string;
  /** The text at first. The editor holds its own: another text needs another `key`. */
  readonly text: string;
  readonly schema: GraphQLSchema;
  readonly onChange: (value: string) => void;
}

/** A GraphQL document, completed and checked against the schema. */
export function CodeEditor({ label, text, schema, onChange }: Props) {
  const host = useRef<HTMLDivElement>(null);
  // The editor lives longer than one call of this function.
  const changed = useRef(onChange);
  changed.current = onChange;
  useEffect(() => {
    const element = host.current;
    if (!element) return;
    const root = element.shadowRoot ?? element.attachShadow({ mode: "open" });
    const editor = new EditorView({
      root,
      parent: root,
      state: EditorState.create({ doc: text, extensions: extensionsFor(label, schema, changed) }),
    });
    return () => editor.destroy();
  }, []);
  return <div class="code-editor" ref={host} />;
}

const extensionsFor = (
  label: string,
  schema: GraphQLSchema,
  changed: { readonly current: Props["onChange"] },
) => [
  graphql(schema),
  lineNumbers(),
  history(),
  bracketMatching(),
  closeBrackets(),
  autocompletion(),
  syntaxHighlighting(colours),
  EditorView.lineWrapping,
  EditorView.contentAttributes.of({ "aria-label": label, tabindex: "0" }),
  EditorView.updateListener.of((update) => {
    if (update.docChanged) changed.current(update.state.doc.toString());
  }),
  keymap.of([
    // The key of the button Run, and not of a new line.
    { key: "Mod-Enter", run: () => true },
    ...closeBracketsKeymap,
    ...completionKeymap,
    ...historyKeymap,
    ...defaultKeymap,
  ]),
  theme,
];

const colours = HighlightStyle.define([
  { tag: [tags.keyword, tags.definitionKeyword, tags.operatorKeyword], color: "var(--code-keyword)" },
  { tag: [tags.string, tags.number, tags.bool, tags.null], color: "var(--code-value)" },
  { tag: [tags.typeName, tags.name, tags.atom], color: "var(--code-name)" },
  { tag: [tags.variableName, tags.special(tags.variableName)], color: "var(--code-variable)" },
  { tag: tags.comment, color: "var(--muted)", fontStyle: "italic" },
]);

const theme = EditorView.theme({
  "&": { height: "100%", backgroundColor: "var(--panel)", color: "var(--text)", fontSize: "12.5px" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.55" },
  ".cm-content": { caretColor: "var(--text)" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  ".cm-gutters": { backgroundColor: "var(--raised)", color: "var(--muted)", border: "none" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": {
    backgroundColor: "var(--accent-ground)",
  },
  ".cm-tooltip": {
    border: "1px solid var(--line-strong)",
    borderRadius: "6px",
    backgroundColor: "var(--panel)",
    color: "var(--text)",
    maxWidth: "min(480px, 80vw)",
  },
  ".cm-tooltip-autocomplete ul li[aria-selected]": {
    backgroundColor: "var(--accent)",
    color: "var(--accent-text)",
  },
  ".cm-completionInfo": { padding: "6px 8px" },
});
