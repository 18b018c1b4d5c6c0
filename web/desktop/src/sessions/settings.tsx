import { type ReactNode, useState } from "react";
import { useTexts } from "../i18n/use.js";
import { AccountSettings } from "../settings/form.js";
import { accents, wallpapers } from "../shell/account.js";
import { useCommands, useShell } from "../shell/context.js";
import type { Prefs, Theme } from "../shell/prefs.js";
import { sessions as texts } from "../texts/sessions.js";
import { providerName } from "../topbar/monitors.js";
import { Modal } from "../ui/modal.js";
import { Workspace } from "./workspace.js";

/** The settings of this browser, those of the user, and information about the hub. */
export function SettingsPanel(): ReactNode {
  const t = useTexts(texts);
  const commands = useCommands();
  return (
    <Modal title={t.settings} closeLabel={t.close} onClose={() => commands.openPanel("")} shape="wide">
      <Themes />
      <Wallpapers />
      <Accents />
      <Languages />
      <Notifications />
      <PointerSwitch />
      <Workspace />
      <AccountSettings />
      <About />
    </Modal>
  );
}

function Themes(): ReactNode {
  const t = useTexts(texts);
  const commands = useCommands();
  const theme = useShell((s) => s.prefs.theme);
  const themes: [Theme, string][] = [
    ["system", t.system],
    ["dark", t.dark],
    ["light", t.light],
    ["contrast", t.contrast],
  ];
  return (
    <fieldset className="sessions-set">
      <legend>{t.theme}</legend>
      <div className="sessions-themes">
        {themes.map(([id, name]) => (
          <label key={id} className="sessions-theme">
            <input type="radio" name="theme" className="hidden-text" checked={theme === id} onChange={() => commands.setPrefs({ theme: id })} />
            {id === "system" ? (
              <span className="sessions-both" aria-hidden>
                <Preview look="dark" />
                <Preview look="light" />
              </span>
            ) : (
              <Preview look={id} />
            )}
            <span>{name}</span>
          </label>
        ))}
      </div>
    </fieldset>
  );
}

/** The wallpapers, as small pictures of themselves. */
function Wallpapers(): ReactNode {
  const t = useTexts(texts);
  const commands = useCommands();
  const chosen = useShell((s) => s.prefs.wallpaper);
  return (
    <fieldset className="sessions-set">
      <legend>{t.wallpaper}</legend>
      <div className="sessions-walls">
        {wallpapers.map((w) => (
          <label key={w} className="sessions-theme">
            <input type="radio" name="wallpaper" value={w} className="hidden-text" checked={chosen === w} onChange={() => void commands.changeAccount("wallpaper", w).catch(() => commands.notify(t.notSaved, "warning"))} />
            <span className={`sessions-wall wall-${w}`} aria-hidden />
            <span>{t[w]}</span>
          </label>
        ))}
      </div>
    </fieldset>
  );
}

function Accents(): ReactNode {
  const t = useTexts(texts);
  const commands = useCommands();
  const chosen = useShell((s) => s.prefs.accent);
  const theme = useShell((s) => s.prefs.theme);
  return (
    <fieldset className="sessions-set">
      <legend>{t.accent}</legend>
      <div className="sessions-accents">
        {accents.map((a) => (
          <label key={a} className="sessions-accent" title={t[a]}>
            <input type="radio" name="accent" value={a} className="hidden-text" checked={chosen === a} onChange={() => void commands.changeAccount("accentColor", a).catch(() => commands.notify(t.notSaved, "warning"))} />
            <span data-accent={a} aria-hidden>
              <span className="sessions-accent-dot" data-look={theme === "light" ? "light" : "dark"} />
            </span>
            <span>{t[a]}</span>
          </label>
        ))}
      </div>
      {theme === "contrast" && <p>{t.accentContrast}</p>}
    </fieldset>
  );
}

/** A miniature desktop in the colours of a theme. */
function Preview({ look }: { look: "dark" | "light" | "contrast" }): ReactNode {
  return (
    <svg className="sessions-preview" data-look={look} viewBox="0 0 120 72" preserveAspectRatio="xMidYMid slice" aria-hidden>
      <rect className="p-wall" width="120" height="72" />
      <rect className="p-bar" width="120" height="9" />
      <rect className="p-window" x="12" y="17" width="58" height="36" rx="3" />
      <rect className="p-ink" x="18" y="24" width="32" height="3" rx="1.5" />
      <rect className="p-dim" x="18" y="31" width="44" height="3" rx="1.5" />
      <rect className="p-dim" x="18" y="37" width="38" height="3" rx="1.5" />
      <rect className="p-window" x="54" y="30" width="52" height="28" rx="3" />
      <rect className="p-accent" x="60" y="46" width="20" height="6" rx="3" />
      <rect className="p-dim" x="60" y="37" width="36" height="3" rx="1.5" />
    </svg>
  );
}

function Languages(): ReactNode {
  const t = useTexts(texts);
  const commands = useCommands();
  const language = useShell((s) => s.prefs.language);
  const languages: [Prefs["language"], string][] = [
    ["system", t.browser],
    ["en", "English"],
    ["ko", "한국어"],
  ];
  return (
    <fieldset className="sessions-set">
      <legend>{t.language}</legend>
      <div className="sessions-segments">
        {languages.map(([id, name]) => (
          <label key={id}>
            <input type="radio" name="language" className="hidden-text" checked={language === id} onChange={() => commands.setPrefs({ language: id })} />
            <span lang={id === "system" ? undefined : id}>{name}</span>
          </label>
        ))}
      </div>
    </fieldset>
  );
}

type Permission = NotificationPermission | "missing";

function permissionNow(): Permission {
  return "Notification" in window && isSecureContext ? Notification.permission : "missing";
}

/** Needs both the preference and the permission of the browser. */
function Notifications(): ReactNode {
  const t = useTexts(texts);
  const commands = useCommands();
  const wanted = useShell((s) => s.prefs.notify);
  const [permission, setPermission] = useState<Permission>(permissionNow);
  const on = wanted && permission === "granted";
  const toggle = async (): Promise<void> => {
    if (on) return commands.setPrefs({ notify: false });
    const now = await Notification.requestPermission();
    setPermission(now);
    commands.setPrefs({ notify: now === "granted" });
  };
  const hint = permission === "missing" ? t.notifyMissing : permission === "denied" ? t.notifyDenied : t.notifyHint;
  return (
    <section className="sessions-set sessions-switch-row">
      <div>
        <h3 id="sessions-notify">{t.notify}</h3>
        <p id="sessions-notify-hint">{hint}</p>
      </div>
      <button
        type="button"
        role="switch"
        aria-checked={on}
        aria-labelledby="sessions-notify"
        aria-describedby="sessions-notify-hint"
        disabled={permission === "missing" || permission === "denied"}
        className="sessions-switch"
        onClick={() => void toggle()}
      >
        <span className="sessions-knob" aria-hidden />
        <span className="sessions-switch-text">{on ? t.notifyOn : t.notifyOff}</span>
      </button>
    </section>
  );
}

/** Whether other people see the pointer of this browser. */
function PointerSwitch(): ReactNode {
  const t = useTexts(texts);
  const commands = useCommands();
  const on = useShell((s) => s.prefs.pointer);
  return (
    <section className="sessions-set sessions-switch-row">
      <div>
        <h3 id="sessions-pointer">{t.pointer}</h3>
        <p id="sessions-pointer-hint">{t.pointerHint}</p>
      </div>
      <button
        type="button"
        role="switch"
        aria-checked={on}
        aria-labelledby="sessions-pointer"
        aria-describedby="sessions-pointer-hint"
        className="sessions-switch"
        onClick={() => commands.setPrefs({ pointer: !on })}
      >
        <span className="sessions-knob" aria-hidden />
        <span className="sessions-switch-text">{on ? t.notifyOn : t.notifyOff}</span>
      </button>
    </section>
  );
}

function About(): ReactNode {
  const t = useTexts(texts);
  const hub = useShell((s) => s.hub);
  const me = useShell((s) => s.me);
  const owner = useShell((s) => s.desktop.owner);
  const session = useShell((s) => s.session);
  const facts: [string, string][] = [
    [t.user, me.roles.length > 0 ? `${me.user} (${me.roles.join(", ")})` : me.user],
    [t.version, `Everdesk ${hub.version}`],
    [t.server, owner === "" ? location.host : `${location.host} · ${owner}`],
    [t.provider, providerName(hub.provider)],
    [t.session, session],
  ];
  return (
    <section className="sessions-set" aria-label={t.about}>
      <h3>{t.about}</h3>
      <dl className="sessions-facts">
        {facts.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
