import { ImageOff } from "lucide-react";
import type { CSSProperties, ReactNode } from "react";
import type { BadgeComponent, ImageComponent, ProgressComponent, TextComponent } from "../../../../core/src/index.js";
import { useTexts } from "../../i18n/use.js";
import { useShell } from "../../shell/context.js";
import { content as texts } from "../../texts/content.js";
import { hostOf, pictureSource } from "../addresses.js";
import { lengthOf } from "./form.js";

const tags = { heading: "h3", subheading: "h4", body: "p", caption: "p", code: "pre" } as const;

export function TextView({ text }: { text: TextComponent }): ReactNode {
  const variant = text.variant ?? "body";
  const Tag = tags[variant] ?? "p";
  return (
    <Tag className={`content-words content-words-${variant} content-tone-${text.color ?? "default"}`} style={{ textAlign: text.textAlign }}>
      {text.content}
    </Tag>
  );
}

export function Badge({ badge }: { badge: BadgeComponent }): ReactNode {
  return <span className={`content-badge content-badge-${badge.variant ?? "default"}`}>{badge.label}</span>;
}

export function Progress({ progress: p }: { progress: ProgressComponent }): ReactNode {
  const t = useTexts(texts);
  const value = Math.round(Math.min(100, Math.max(0, p.value)));
  return (
    <>
      {(p.label !== undefined || p.showValue === true) && (
        <div className="content-progress-head" aria-hidden>
          <span>{p.label}</span>
          {p.showValue === true && <span className="content-progress-value">{value}%</span>}
        </div>
      )}
      <div className={`content-progress content-progress-${p.variant ?? "default"}`} role="progressbar" aria-label={p.label || t.working} aria-valuenow={value} aria-valuemin={0} aria-valuemax={100}>
        <div style={{ width: `${value}%` }} />
      </div>
    </>
  );
}

export function Picture({ image }: { image: ImageComponent }): ReactNode {
  const session = useShell((s) => s.session);
  const src = pictureSource(image.src, session);
  if (src === undefined) return <BlockedPicture src={image.src} />;
  const style: CSSProperties = { width: lengthOf(image.width), height: lengthOf(image.height), objectFit: image.fit ?? "contain" };
  return <img className="content-picture" src={src} alt="" style={style} referrerPolicy="no-referrer" />;
}

/** The placeholder for a picture from another site, which was not requested. */
function BlockedPicture({ src }: { src: string }): ReactNode {
  const t = useTexts(texts);
  return (
    <span className="md-blocked">
      <ImageOff size={14} aria-hidden /> {t.blockedPicture} <span className="md-blocked-host">{hostOf(src)}</span>
    </span>
  );
}
