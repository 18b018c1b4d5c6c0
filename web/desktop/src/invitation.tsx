import type { ReactNode } from "react";
import { useArmed, usePress } from "./asks/arming.js";
import type { Language } from "./i18n/texts.js";
import icon from "./styles/icon.svg";
import { app as texts } from "./texts/entry.js";
import { Button } from "./ui/button.js";

interface InvitationProps {
  language: Language;
  host: string;
  onJoin: () => void;
}

/**
 * Asks before this device joins a session: any page can link here, and after joining the user works in a session of
 * another user.
 */
export function Invitation({ language, host, onJoin }: InvitationProps): ReactNode {
  const t = texts[language];
  const press = usePress(useArmed("join"));
  return (
    <main className="app-wait">
      <img src={icon} alt="" width={40} height={40} />
      <h1>{t.joinAsk(host)}</h1>
      <p>{t.joinMeans}</p>
      <Button kind="primary" {...press(onJoin)}>
        {t.join}
      </Button>
      <a href="/">{t.others}</a>
    </main>
  );
}
