import { AppWindow, FileInput, type LucideIcon, MousePointerClick, MoveDiagonal, Shapes, SquareDashedMousePointer, TextSelect } from "lucide-react";
import type { ReactNode } from "react";
import { useWords } from "../i18n/use.js";
import { useShell } from "../shell/context.js";
import { type Gesture, gesturesIn, pressIn } from "../shell/gesture.js";
import texts from "./words.js";

/** What a message says. What a person did is told in words. */
export function Said({ text, window }: { text: string; window: string | undefined }): ReactNode {
  const press = window === undefined ? undefined : pressIn(text, window);
  const { gestures, rest } = gesturesIn(text) ?? { gestures: press === undefined ? [] : [press], rest: press === undefined ? text : "" };
  return (
    <>
      {gestures.map((g, i) => (
        <Did key={i} gesture={g} />
      ))}
      {rest !== "" && <div className="drawer-said">{rest}</div>}
    </>
  );
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

function Did({ gesture: g }: { gesture: Gesture }): ReactNode {
  const Icon = gestureIcons[g.kind];
  return (
    <div className="drawer-did">
      <Icon size={14} aria-hidden />
      <span>{useGestureText(g)}</span>
    </div>
  );
}

function useGestureText(g: Gesture): string {
  const t = useWords(texts);
  const label = useShell((s) => (g.kind === "icon" ? s.desk.shortcuts.get(g.id)?.label : undefined));
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
