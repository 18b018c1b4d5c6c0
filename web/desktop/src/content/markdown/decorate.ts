// Adds to sanitized nodes what their HTML cannot express: boxes of task lists, tables that scroll, placeholders for
// blocked pictures, and slots for code blocks, which have buttons.

import type { SessionID } from "../../../../core/src/index.js";
import { ownFile, pictureSource } from "../addresses.js";
import { blockedAttribute } from "./sanitize.js";

export interface Decorated {
  readonly nodes: readonly Node[];
  readonly slots: readonly Slot[];
}

/** The element that a code block is rendered into. */
export interface Slot {
  readonly at: HTMLElement;
  readonly lang: string;
  readonly text: string;
}

/** The texts for the nodes. */
export interface DecorateTexts {
  readonly done: string;
  readonly open: string;
  readonly table: string;
  readonly blockedPicture: string;
}

export function decorate(fragment: DocumentFragment, session: SessionID, t: DecorateTexts): Decorated {
  for (const box of fragment.querySelectorAll("data[value]")) box.replaceWith(taskBox(box.getAttribute("value") === "done", t));
  for (const image of fragment.querySelectorAll("img")) decoratePicture(image, session, t);
  for (const link of fragment.querySelectorAll<HTMLAnchorElement>("a[href]")) decorateLink(link, session);
  for (const table of fragment.querySelectorAll("table")) {
    const scroll = make("div", "md-scroll");
    scroll.tabIndex = 0;
    scroll.role = "group";
    scroll.ariaLabel = t.table;
    table.replaceWith(scroll);
    scroll.append(table);
    for (const cell of table.querySelectorAll("th, td")) if (isNumber(cell.textContent ?? "")) cell.classList.add("md-number");
  }
  const slots = [...fragment.querySelectorAll("pre")].map((pre): Slot => {
    const at = make("div", "md-slot");
    pre.replaceWith(at);
    return { at, lang: pre.getAttribute("lang") ?? "", text: (pre.textContent ?? "").replace(/\n$/, "") };
  });
  return { nodes: [...fragment.childNodes], slots };
}

/** Whether a text is a number, perhaps with a currency or a short unit, such as "€ 12,000" and "3.5 km". */
function isNumber(text: string): boolean {
  return text.length < 24 && /^(?:\p{Lu}{3}\s)?[^\p{L}]*\d[^\p{L}]*\p{L}{0,3}$/u.test(text.trim());
}

function taskBox(done: boolean, t: DecorateTexts): HTMLElement {
  const box = make("span", done ? "md-task md-task-done" : "md-task");
  box.role = "img";
  box.ariaLabel = done ? t.done : t.open;
  return box;
}

function decoratePicture(image: HTMLImageElement, session: SessionID, t: DecorateTexts): void {
  const src = image.getAttribute("src");
  const from = src === null ? undefined : pictureSource(src, session);
  if (from !== undefined) {
    image.setAttribute("src", from);
    image.setAttribute("loading", "lazy");
    image.setAttribute("decoding", "async");
    image.setAttribute("referrerpolicy", "no-referrer");
    return;
  }
  const blocked = image.getAttribute(blockedAttribute) ?? src;
  if (blocked === null) return image.replaceWith(image.alt);
  const chip = make("span", "md-blocked");
  const host = make("span", "md-blocked-host");
  host.textContent = blocked;
  chip.append(`${t.blockedPicture} `, host);
  if (image.alt !== "") chip.append(` ${image.alt}`);
  image.replaceWith(chip);
}

function decorateLink(link: HTMLAnchorElement, session: SessionID): void {
  const to = link.getAttribute("href")!;
  const file = ownFile(to, session);
  if (file !== undefined) link.setAttribute("href", file);
  else link.title = to;
}

function make(tag: string, name: string): HTMLElement {
  const e = document.createElement(tag);
  e.className = name;
  return e;
}
