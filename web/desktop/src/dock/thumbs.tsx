import { X } from "lucide-react";
import type { ReactNode } from "react";
import { useTexts } from "../i18n/use.js";
import { dock as texts } from "../texts/entry.js";
import { IconButton } from "../ui/button.js";
import type { Pictures } from "./use-pictures.js";

/** The pictures attached to the draft, with hints about them. */
export function Thumbs({ pictures: p }: { pictures: Pictures }): ReactNode {
  const t = useTexts(texts);
  const shrunk = p.fitted?.some((f) => f.shrunk !== undefined) === true;
  return (
    <div className="dock-thumbs">
      <ul aria-label={t.pictureList}>
        {p.pictures.map((picture) => {
          const size = p.fitted?.find((f) => f.id === picture.id)?.shrunk;
          const name = picture.name || t.picture;
          return (
            <li key={picture.id} className="dock-thumb">
              <img src={picture.whole} alt={name} title={name} />
              {size !== undefined && <span className="dock-thumb-size">{t.shrunkTo(size.width, size.height)}</span>}
              <IconButton icon={X} size={12} label={t.removePicture(name)} onClick={() => p.remove(picture.id)} />
            </li>
          );
        })}
      </ul>
      <p role="status">{p.reading ? t.readingPicture : p.tooMany === true ? t.noRoom : shrunk ? t.shrunk : ""}</p>
    </div>
  );
}
