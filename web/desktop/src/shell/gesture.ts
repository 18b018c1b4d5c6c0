// What people did rather than typed. Desktops tell agents of it in blocks at the beginning of a message, such as
// `<ui:click>app: notes</ui:click>`; what does not look exactly like one is text.

export type Gesture =
  /** A button in a window, which is named by its title or, without one, by its id. */
  | { readonly kind: "button"; readonly button: string; readonly window: string }
  /** An icon of the desktop. */
  | { readonly kind: "icon"; readonly id: string; readonly target: string }
  | { readonly kind: "app"; readonly name: string }
  | { readonly kind: Other; readonly about: string };

/** The gestures of which is shown what they say. */
type Other = "click" | "drag" | "select" | "area" | "picture" | "file" | "fromApp";

const tags: Readonly<Record<string, Other>> = {
  "ui:click": "click",
  "ui:drag": "drag",
  "ui:select": "select",
  "ui:selection": "select",
  "ui:region_select": "area",
  "ui:image_drop": "picture",
  "ui:file_drop": "file",
  app_interaction: "fromApp",
};

/** A message without the blocks it begins with, and what they tell; undefined when there are none. */
export function gesturesIn(text: string): { gestures: readonly Gesture[]; rest: string } | undefined {
  const gestures: Gesture[] = [];
  let rest = text;
  for (;;) {
    const start = rest.trimStart();
    const tag = /^<([a-z:_]+)>/.exec(start)?.[1] ?? "";
    const kind = Object.hasOwn(tags, tag) ? tags[tag] : undefined;
    // What is inside may be of strangers, so that a block ends with the last of its closing tags.
    const end = start.lastIndexOf(`</${tag}>`);
    if (kind === undefined || end < 0) break;
    gestures.push(gestureOf(kind, start.slice(tag.length + 2, end)));
    rest = start.slice(end + tag.length + 3);
  }
  return gestures.length === 0 ? undefined : { gestures, rest: rest.trim() };
}

const quoted = String.raw`"((?:[^"\\]|\\.)*)"`;
const button = new RegExp(`^button ${quoted} in window (?:${quoted}|(\\S.*))$`);

function gestureOf(kind: Other, inside: string): Gesture {
  const about = plain(inside).trim();
  if (kind !== "click") return { kind, about };
  const pressed = button.exec(about);
  if (pressed !== null) return { kind: "button", button: unquoted(pressed[1]!), window: pressed[3] ?? unquoted(pressed[2]!) };
  const icon = /^shortcut: (.+?), type: [a-z]+, target: (.*)$/.exec(about);
  if (icon !== null) return { kind: "icon", id: icon[1]!, target: icon[2]! };
  const app = /^app: (\S.*)$/.exec(about);
  return app === null ? { kind, about } : { kind: "app", name: app[1]! };
}

function plain(text: string): string {
  return text.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");
}

function unquoted(text: string): string {
  return text.replace(/\\(.)/g, "$1");
}

/** The button in the row of a press, which says `button (window)`. Only a window's messages are read so. */
export function pressIn(text: string, window: string): Gesture | undefined {
  const end = ` (${window})`;
  const pressed = text.slice(0, -end.length);
  const is = text.endsWith(end) && pressed.trim() !== "" && !text.includes("\n");
  return is ? { kind: "button", button: pressed, window } : undefined;
}
