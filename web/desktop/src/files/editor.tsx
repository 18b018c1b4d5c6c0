// The editor of text files: CodeMirror in a shadow root, where its styles need no inline style elements, which the page's policy
// forbids.

import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { css } from "@codemirror/lang-css";
import { html } from "@codemirror/lang-html";
import { javascript } from "@codemirror/lang-javascript";
import { json } from "@codemirror/lang-json";
import { markdown } from "@codemirror/lang-markdown";
import { python } from "@codemirror/lang-python";
import { bracketMatching, HighlightStyle, indentOnInput, syntaxHighlighting } from "@codemirror/language";
import { highlightSelectionMatches, searchKeymap } from "@codemirror/search";
import { EditorState, type Extension } from "@codemirror/state";
import { drawSelection, EditorView, highlightActiveLine, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { type ReactNode, useEffect, useRef } from "react";

export { highlight } from "./editor-highlight.js";

interface EditorProps {
  name: string;
  label: string;
  text: string;
  onChange: (text: string) => void;
  onSave: () => void;
  /** Runs the text, with Shift+Enter. */
  onRun?: () => void;
  className?: string;
}

const languages: [RegExp, () => Extension][] = [
  [/\.(?:[cm]?js|jsx)$/i, () => javascript({ jsx: true })],
  [/\.(?:[cm]?ts|tsx)$/i, () => javascript({ jsx: true, typescript: true })],
  [/\.py$/i, () => python()],
  [/\.(?:json|ipynb|geojson)$/i, () => json()],
  [/\.css$/i, () => css()],
  [/\.(?:html?|xhtml|svg|xml)$/i, () => html()],
  [/\.(?:md|markdown)$/i, () => markdown()],
];

// The colours of the theme, which can be read on its surfaces, light and dark.
const colours = HighlightStyle.define([
  { tag: [tags.keyword, tags.heading, tags.tagName], fontWeight: "600" },
  { tag: [tags.string, tags.attributeValue, tags.regexp], color: "var(--success)" },
  { tag: [tags.number, tags.bool, tags.null, tags.attributeName, tags.propertyName], color: "var(--info)" },
  { tag: tags.comment, color: "var(--ink-2)", fontStyle: "italic" },
  { tag: tags.link, textDecoration: "underline" },
  { tag: tags.emphasis, fontStyle: "italic" },
  { tag: tags.strong, fontWeight: "600" },
]);

const look = EditorView.theme({
  "&": { height: "100%", color: "var(--ink)", backgroundColor: "var(--surface)", fontSize: "var(--text)" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.5" },
  ".cm-gutters": { backgroundColor: "var(--surface-2)", color: "var(--ink-3)", border: "0" },
  ".cm-content": { caretColor: "var(--ink)" },
  ".cm-cursor": { borderLeftColor: "var(--ink)" },
  ".cm-activeLine": { backgroundColor: "var(--accent-soft)" },
  "&.cm-focused": { outline: "none" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": { backgroundColor: "var(--info-soft)" },
  ".cm-panels": { backgroundColor: "var(--surface-2)", color: "var(--ink)" },
});

/**
 * Moves the focus from an editor to the first control of its part of the page. Tab skips the editor until the focus has left that
 * part: else it would lead back, and what follows the editor could not be reached.
 */
function leave(host: HTMLElement, content: HTMLElement): void {
  const part = host.closest<HTMLElement>("[data-file], [data-cell]");
  const first = part?.querySelector<HTMLElement>("button, a");
  if (part === null || !first) return;
  first.focus();
  content.tabIndex = -1;
  const restore = (e: FocusEvent): void => {
    if (e.type === "focusout" && part.contains(e.relatedTarget as Node | null)) return;
    content.tabIndex = 0;
    part.removeEventListener("focusout", restore);
    content.removeEventListener("focus", restore);
  };
  part.addEventListener("focusout", restore);
  content.addEventListener("focus", restore);
}

/** A text in an editor. Another `text` replaces the content unless the user typed it. */
export default function Editor({ name, label, text, onChange, onSave, onRun, className = "files-editor" }: EditorProps): ReactNode {
  const host = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView>(undefined);
  const latest = useRef({ onChange, onSave, onRun });
  latest.current = { onChange, onSave, onRun };
  const begin = useRef(text);
  useEffect(() => {
    const at = host.current!;
    const root = at.shadowRoot ?? at.attachShadow({ mode: "open" });
    const save = { key: "Mod-s", preventDefault: true, run: () => (latest.current.onSave(), true) };
    const run = { key: "Shift-Enter", run: () => latest.current.onRun !== undefined && (latest.current.onRun(), true) };
    const editor = new EditorView({
      root,
      parent: root,
      state: EditorState.create({
        doc: begin.current,
        extensions: [
          lineNumbers(),
          history(),
          drawSelection(),
          indentOnInput(),
          bracketMatching(),
          highlightActiveLine(),
          highlightSelectionMatches(),
          syntaxHighlighting(colours),
          EditorView.lineWrapping,
          EditorView.contentAttributes.of({ "aria-label": label }),
          keymap.of([save, run, ...defaultKeymap, ...historyKeymap, ...searchKeymap, indentWithTab]),
          EditorView.updateListener.of((u) => {
            if (u.docChanged) latest.current.onChange(u.state.doc.toString());
          }),
          look,
          languages.find(([n]) => n.test(name))?.[1]() ?? [],
        ],
      }),
    });
    view.current = editor;
    // Plain keys are text here. The page sees only the element with the shadow root and would take them for shortcuts. Escape
    // leaves the editor, because Tab indents.
    const keep = (e: KeyboardEvent): void => {
      if (e.key === "Escape" && !e.defaultPrevented) leave(at, editor.contentDOM);
      if (!(e.altKey || e.key === "F6" || ((e.ctrlKey || e.metaKey) && e.key.toLowerCase() === "k"))) e.stopPropagation();
    };
    at.addEventListener("keydown", keep);
    return () => {
      at.removeEventListener("keydown", keep);
      editor.destroy();
    };
  }, [name, label]);
  useEffect(() => {
    const editor = view.current;
    if (editor === undefined || editor.state.doc.toString() === text) return;
    const at = Math.min(editor.state.selection.main.head, text.length);
    editor.dispatch({ changes: { from: 0, to: editor.state.doc.length, insert: text }, selection: { anchor: at } });
  }, [text]);
  return <div ref={host} className={className} data-editor={name} />;
}
