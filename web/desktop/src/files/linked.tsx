// Names of files in texts of agents become links that open the file in a window.

import { type MouseEvent, type ReactNode, useContext, useMemo } from "react";
import type { SessionID } from "../../../core/src/index.js";
import { ShellContext } from "../shell/context.js";
import { useKnownFiles } from "./known.js";
import { openFile } from "./open.js";
import { fileURL, pathOf } from "./paths.js";

/** The most names that are looked for, the longest first. */
const mostNames = 500;

/** The pattern that finds the names of files; undefined if there are none. A name without a dot or slash is too common a word. */
export function namePattern(paths: readonly string[]): RegExp | undefined {
  const names = paths
    .filter((p) => p.length > 2 && /[./]/.test(p))
    .sort((a, b) => b.length - a.length)
    .slice(0, mostNames);
  if (names.length === 0) return undefined;
  const escaped = names.map((p) => p.replaceAll(/[.*+?^${}()|[\]\\/-]/g, "\\$&"));
  return new RegExp(`(?<![\\p{L}\\p{N}_/.-])(?:/files/|\\./)?(${escaped.join("|")})(?![\\p{L}\\p{N}_/-]|\\.[\\p{L}\\p{N}])`, "gu");
}

export function useNamePattern(): RegExp | undefined {
  const { files } = useKnownFiles();
  return useMemo(() => namePattern(files.filter((f) => !f.isDirectory).map((f) => f.path)), [files]);
}

/** The parts of a text: words, and names of files. */
export function splitNames(text: string, pattern: RegExp | undefined): { text: string; path?: string }[] {
  const parts: { text: string; path?: string }[] = [];
  let end = 0;
  for (const found of pattern === undefined ? [] : text.matchAll(pattern)) {
    if (found.index > end) parts.push({ text: text.slice(end, found.index) });
    parts.push({ text: found[0], path: found[1]! });
    end = found.index + found[0].length;
  }
  if (end < text.length) parts.push({ text: text.slice(end) });
  return parts;
}

/** Makes links of the names of files within an element. Links and code blocks stay as they are. */
export function linkNames(root: HTMLElement, session: SessionID, pattern: RegExp): void {
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  const texts: Text[] = [];
  for (let n = walker.nextNode(); n !== null; n = walker.nextNode()) {
    if (n.parentElement?.closest("a[href], pre, .md-slot") === null) texts.push(n as Text);
  }
  for (const node of texts) {
    const parts = splitNames(node.data, pattern);
    if (!parts.some((p) => p.path !== undefined)) continue;
    node.replaceWith(
      ...parts.map(({ text, path }) => {
        if (path === undefined) return text;
        const link = document.createElement("a");
        link.href = fileURL(session, path);
        link.target = "_blank";
        link.rel = "noopener noreferrer";
        link.textContent = text;
        return link;
      }),
    );
  }
}

/** Returns a handler of clicks that opens links to files in windows, and returns whether it did. */
export function useFileLinks(): (e: MouseEvent) => boolean {
  const services = useContext(ShellContext);
  return (e) => {
    const link = e.target instanceof Element ? e.target.closest("a") : null;
    const s = services?.store.getState();
    if (link === null || s === undefined || e.button !== 0 || e.ctrlKey || e.metaKey || e.shiftKey) return false;
    const path = pathOf(link.getAttribute("href") ?? "", s.session);
    if (path === undefined) return false;
    e.preventDefault();
    openFile(services!.commands, s, path);
    return true;
  };
}

/** A plain text in which names of files are links. */
export function Linked({ text }: { text: string }): ReactNode {
  const pattern = useNamePattern();
  const follow = useFileLinks();
  const session = useContext(ShellContext)?.store.getState().session ?? "";
  const parts = useMemo(() => splitNames(text, pattern), [text, pattern]);
  return parts.map(({ text: shown, path }, i) =>
    path === undefined ? (
      shown
    ) : (
      <a key={i} href={fileURL(session, path)} target="_blank" rel="noopener noreferrer" onClick={follow}>
        {shown}
      </a>
    ),
  );
}
