import { ChartSpline, GraduationCap, type LucideIcon, Plane, Rocket } from "lucide-react";
import type { ReactNode } from "react";
import { useTexts } from "../i18n/use.js";
import { launcher as texts } from "../texts/launcher.js";
import { type TemplateID, templateIds } from "./templates.js";

const looks: Record<TemplateID, { icon: LucideIcon; hue: number }> = {
  trip: { icon: Plane, hue: 3 },
  release: { icon: Rocket, hue: 7 },
  data: { icon: ChartSpline, hue: 2 },
  study: { icon: GraduationCap, hue: 4 },
};

/** The templates as buttons; only those in `ids`, if given. */
export function TemplateList({ ids = templateIds, onOpen }: { ids?: readonly TemplateID[]; onOpen: (id: TemplateID) => void }): ReactNode {
  const t = useTexts(texts);
  return (
    <ul className="launcher-templates">
      {ids.map((id) => {
        const { icon: Icon, hue } = looks[id];
        return (
          <li key={id}>
            <button type="button" className="launcher-template" data-template={id} onClick={() => onOpen(id)}>
              <span className={`launcher-tile kind kind-${hue}`} aria-hidden>
                <Icon size={18} />
              </span>
              <span className="launcher-text">
                <strong>{t[id]}</strong>
                <span>{t[`${id}Hint`]}</span>
              </span>
            </button>
          </li>
        );
      })}
    </ul>
  );
}
