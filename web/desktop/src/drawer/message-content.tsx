import { AppWindow, FileInput, type LucideIcon, MousePointerClick, MoveDiagonal, Shapes, SquareDashedMousePointer, TextSelect } from "lucide-react";
import type { ReactNode } from "react";
import type { Content } from "../../../core/src/index.js";
import { useTexts } from "../i18n/use.js";
import { useShell } from "../shell/context.js";
import { type Gesture, gesturesIn, pressIn } from "../shell/gesture.js";
import { drawer as texts } from "../texts/drawer.js";

/** The window that a message was sent to. */
interface TargetWindow {
  readonly key: string;
  readonly title: string;
}

/** The content of a message. Gestures are described in words. */
export function MessageContent({ text, to }: { text: string; to: TargetWindow | undefined }): ReactNode {
  const pressed = to === undefined ? undefined : pressIn(text, to.title);
  const label = useShell((s) => (pressed?.kind !== "button" ? undefined : buttonLabel(s.desktop.windows.get(to!.key)?.content, pressed.button)));
  const press = pressed?.kind === "button" && label !== undefined ? { ...pressed, button: label } : pressed;
  const { gestures, rest } = gesturesIn(text) ?? { gestures: press === undefined ? [] : [press], rest: press === undefined ? text : "" };
  return (
    <>
      {gestures.map((g, i) => (
        <GestureLine key={i} gesture={g} />
      ))}
      {rest !== "" && <div className="drawer-said">{rest}</div>}
    </>
  );
}

/** The label of the button with an action; a message about a click has only the action. */
export function buttonLabel(content: Content | undefined, action: string): string | undefined {
  if (content?.renderer !== "component") return undefined;
  const button = content.data.components.find((c) => c.type === "button" && c.action === action);
  return button?.type === "button" ? button.label || undefined : undefined;
}

const gestureIcons: Readonly<Record<Gesture["kind"], LucideIcon>> = {
  button: MousePointerClick,
  click: MousePointerClick,
  icon: Shapes,
  app: Shapes,
  drag: MoveDiagonal,
  select: TextSelect,
  area: SquareDashedMousePointer,
  picture: FileInput,
  file: FileInput,
  fromApp: AppWindow,
};

function GestureLine({ gesture: g }: { gesture: Gesture }): ReactNode {
  const Icon = gestureIcons[g.kind];
  return (
    <div className="drawer-did">
      <Icon size={14} aria-hidden />
      <span>{useGestureText(g)}</span>
    </div>
  );
}

function useGestureText(g: Gesture): string {
  const t = useTexts(texts);
  const label = useShell((s) => (g.kind === "icon" ? s.desktop.shortcuts.get(g.id)?.label : undefined));
  switch (g.kind) {
    case "button":
      return t.didPress(g.button, g.window);
    case "icon":
      return t.didOpen(label || g.target || g.id);
    case "app":
      return t.didOpen(g.name);
  }
  const say = {
    click: t.didClick,
    drag: t.didDrag,
    select: t.didSelect,
    area: t.didArea,
    picture: t.didPicture,
    file: t.didFile,
    fromApp: t.didFromApp,
  };
  return say[g.kind](g.about);
}
