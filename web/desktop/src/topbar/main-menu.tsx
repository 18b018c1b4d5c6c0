import { AppWindow, Bell, Blocks, Compass, Contrast, Keyboard, LayoutGrid, LogOut, Menu as MenuIcon, Monitor, Moon, Plug, RotateCcw, Search, Settings, ShieldCheck, SlidersHorizontal, Smartphone, Sun, Users } from "lucide-react";
import type { ReactNode } from "react";
import { useTexts } from "../i18n/use.js";
import { useCommands, useShell } from "../shell/context.js";
import type { Prefs, Theme } from "../shell/prefs.js";
import { useHasAccount } from "../shell/select.js";
import { usePhone } from "../shell/viewport.js";
import { topbar as texts } from "../texts/entry.js";
import { IconButton } from "../ui/button.js";
import { Kbd } from "../ui/kbd.js";
import { Menu, MenuItem } from "../ui/menu.js";
import { PhoneMode } from "./mode.js";
import { ProviderItems } from "./provider.js";
import { useUnread } from "./unread.js";

const icon = { size: 14, "aria-hidden": true } as const;

/** The menu for everything without a button of its own. */
export function MainMenu(): ReactNode {
  const t = useTexts(texts);
  const commands = useCommands();
  const phone = usePhone();
  const unread = useUnread();
  const signedIn = useShell((s) => s.me.auth !== "none");
  const hasAccount = useHasAccount();
  const signOut = (): void => {
    commands.signOut().catch((error: unknown) => {
      commands.notify(t.signOutFailed(error instanceof Error ? error.message : String(error)), "error", 8000);
    });
  };
  return (
    <Menu label={t.menu} align="end" trigger={(menu) => <IconButton icon={MenuIcon} label={t.menu} {...menu} />}>
      {(close) => {
        const item = (act: () => void) => (): void => {
          close();
          act();
        };
        return (
          <>
            <MenuItem icon={<LayoutGrid {...icon} />} onSelect={item(() => commands.openPanel("sessions"))}>
              {t.sessions}
            </MenuItem>
            <MenuItem icon={<AppWindow {...icon} />} onSelect={item(() => commands.openPanel("launcher"))}>
              {t.launcher}
            </MenuItem>
            {hasAccount && (
              <MenuItem icon={<Users {...icon} />} onSelect={item(() => commands.openPanel("share"))}>
                {t.share}
              </MenuItem>
            )}
            <MenuItem icon={<RotateCcw {...icon} />} onSelect={item(() => commands.openPanel("film"))}>
              {t.film}
            </MenuItem>
            <MenuItem icon={<Search {...icon} />} hint={phone ? undefined : <Kbd combo="mod+k" />} onSelect={item(() => commands.openPanel("palette"))}>
              {t.palette}
            </MenuItem>
            {!phone && (
              <MenuItem icon={<LayoutGrid {...icon} />} hint={<Kbd combo="alt+t" />} onSelect={item(() => commands.runOnWindows?.("tidy"))}>
                {t.tidy}
              </MenuItem>
            )}
            {phone && (
              <MenuItem icon={<Bell {...icon} />} hint={unread > 0 ? unread : undefined} onSelect={item(() => commands.openPanel("notifications"))}>
                {t.bell}
              </MenuItem>
            )}
            {phone && <hr />}
            {phone && <ProviderItems close={close} />}
            {phone && <PhoneMode close={close} />}
            <hr />
            <ThemeRow />
            <LanguageRow />
            <hr />
            {!phone && (
              <MenuItem icon={<Keyboard {...icon} />} hint={<Kbd combo="?" />} onSelect={item(() => commands.openPanel("help"))}>
                {t.shortcuts}
              </MenuItem>
            )}
            {!phone && (
              <MenuItem icon={<Smartphone {...icon} />} onSelect={item(() => commands.openPanel("join"))}>
                {t.phone}
              </MenuItem>
            )}
            <MenuItem icon={<Plug {...icon} />} onSelect={item(() => commands.openPanel("programs"))}>
              {t.programs}
            </MenuItem>
            <MenuItem
              icon={<Compass {...icon} />}
              onSelect={item(() => {
                commands.showTour(true);
                if (phone) commands.showPhonePage("chat");
              })}
            >
              {t.tour}
            </MenuItem>
            <MenuItem icon={<ShieldCheck {...icon} />} onSelect={item(() => commands.openPanel("alone"))}>
              {t.alone}
            </MenuItem>
            {!phone && hasAccount && (
              <MenuItem icon={<Plug {...icon} />} onSelect={item(() => commands.openPanel("connect"))}>
                {t.connect}
              </MenuItem>
            )}
            {!phone && hasAccount && (
              <MenuItem icon={<SlidersHorizontal {...icon} />} onSelect={item(() => commands.openPanel("modes"))}>
                {t.modes}
              </MenuItem>
            )}
            {!phone && hasAccount && (
              <MenuItem icon={<Blocks {...icon} />} onSelect={item(() => commands.openPanel("servers"))}>
                {t.servers}
              </MenuItem>
            )}
            {!phone && hasAccount && (
              <MenuItem icon={<ShieldCheck {...icon} />} onSelect={item(() => commands.openPanel("domains"))}>
                {t.domains}
              </MenuItem>
            )}
            <MenuItem icon={<Settings {...icon} />} onSelect={item(() => commands.openPanel("settings"))}>
              {t.settings}
            </MenuItem>
            {signedIn && <hr />}
            {signedIn && (
              <MenuItem icon={<LogOut {...icon} />} onSelect={item(signOut)}>
                {t.signOut}
              </MenuItem>
            )}
          </>
        );
      }}
    </Menu>
  );
}

/** The themes in one row; choosing one leaves the menu open, to see the effect. */
function ThemeRow(): ReactNode {
  const t = useTexts(texts);
  const commands = useCommands();
  const theme = useShell((s) => s.prefs.theme);
  const themes: [Theme, typeof Sun, string][] = [
    ["system", Monitor, t.themeSystem],
    ["dark", Moon, t.themeDark],
    ["light", Sun, t.themeLight],
    ["contrast", Contrast, t.themeContrast],
  ];
  const choices = themes.map(([id, Icon, name]): Choice<Prefs["theme"]> => [id, name, <Icon key={id} {...icon} />]);
  return <ChoiceRow name={t.theme} chosen={theme} choices={choices} onChoose={(id) => commands.setPrefs({ theme: id })} />;
}

function LanguageRow(): ReactNode {
  const t = useTexts(texts);
  const commands = useCommands();
  const language = useShell((s) => s.prefs.language);
  const choices: Choice<Prefs["language"]>[] = [
    ["system", t.languageSystemLong, t.languageSystem],
    ["en", "English", "EN"],
    ["ko", "한국어", "한"],
  ];
  return <ChoiceRow name={t.language} chosen={language} choices={choices} onChoose={(id) => commands.setPrefs({ language: id })} />;
}

/** A choice: its value, its label, and its visible content. */
type Choice<T extends string> = [T, string, ReactNode];

interface ChoiceRowProps<T extends string> {
  name: string;
  chosen: T;
  choices: Choice<T>[];
  onChoose: (choice: T) => void;
}

/** A row of small buttons, one of them selected. */
function ChoiceRow<T extends string>({ name, chosen, choices, onChoose }: ChoiceRowProps<T>): ReactNode {
  return (
    <div className="topbar-choice" role="group" aria-label={name}>
      <span className="topbar-choice-name">{name}</span>
      {choices.map(([id, label, content]) => (
        <button
          key={id}
          type="button"
          role="menuitemradio"
          aria-checked={chosen === id}
          aria-label={label}
          title={label}
          className="topbar-choice-item"
          onClick={() => onChoose(id)}
        >
          {content}
        </button>
      ))}
    </div>
  );
}
