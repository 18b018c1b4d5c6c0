// Gestures: actions of the user other than typing. Desktops report them to agents in blocks at the start of a message, such as
// `<ui:click>app: notes</ui:click>`; anything that deviates from this form is text.

export type Gesture =
  /** A button in a window. The window is named by its title, or by its id if it has none. */
  | { readonly kind: "button"; readonly button: string; readonly window: string }
  /** A desktop icon. */
  | { readonly kind: "icon"; readonly id: string; readonly target: string }
  | { readonly kind: "app"; readonly name: string }
  | { readonly kind: Other; readonly about: string };

/** The gestures whose text is shown as it is. */
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

/** Splits a message into its leading gestures and the rest; undefined if there are none. */
export function gesturesIn(text: string): { gestures: readonly Gesture[]; rest: string } | undefined {
  const gestures: Gesture[] = [];
  let rest = text;
  for (;;) {
    const start = rest.trimStart();
    const tag = /^<([a-z:_]+)>/.exec(start)?.[1] ?? "";
    const kind = Object.hasOwn(tags, tag) ? tags[tag] : undefined;
    // The content may be untrusted, so a block ends at the last of its closing tags.
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

/** Parses the row of a button press, `button (window)`. Only messages to a window have this form. */
export function pressIn(text: string, window: string): Gesture | undefined {
  const end = ` (${window})`;
  const pressed = text.slice(0, -end.length);
  const is = text.endsWith(end) && pressed.trim() !== "" && !text.includes("\n");
  return is ? { kind: "button", button: pressed, window } : undefined;
}
