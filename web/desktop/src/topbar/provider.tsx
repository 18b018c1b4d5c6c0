import { ChevronDown, Cpu, Plug } from "lucide-react";
import { type ReactNode, useEffect, useState } from "react";
import { useTexts } from "../i18n/use.js";
import { useCommands, useShell } from "../shell/context.js";
import { useHasAccount } from "../shell/select.js";
import { topbar as texts } from "../texts/entry.js";
import { Menu, MenuItem } from "../ui/menu.js";
import { profileName, useProfile } from "./profile.js";

/** The model of this session, with a menu to change it. A choice is shown as pending until the hub confirms it. */
export function ProviderChip(): ReactNode {
  const t = useTexts(texts);
  const provider = useProfile();
  const profiles = useShell((s) => s.models?.profiles);
  const [pending, setPending] = useState("");
  useEffect(() => {
    if (pending === "") return;
    if (pending === provider) return setPending("");
    const timer = setTimeout(() => setPending(""), 5000);
    return () => clearTimeout(timer);
  }, [pending, provider]);
  const name = profileName(pending || provider, profiles);
  return (
    <Menu
      label={t.providerMenu}
      align="end"
      trigger={(menu) => (
        <button type="button" className="topbar-provider" aria-busy={pending !== ""} aria-label={t.provider(name)} title={t.provider(name)} {...menu}>
          <Cpu size={14} aria-hidden />
          <span className="topbar-provider-name">{name}</span>
          <ChevronDown size={12} aria-hidden />
        </button>
      )}
    >
      {(close) => <ProviderItems close={close} onChoose={setPending} />}
    </Menu>
  );
}

/** The models to choose from, and the entry to connect more. */
export function ProviderItems({ close, onChoose }: { close: () => void; onChoose?: (provider: string) => void }): ReactNode {
  const t = useTexts(texts);
  const commands = useCommands();
  const provider = useProfile();
  const profiles = useShell((s) => s.models?.profiles);
  const defaultProvider = useShell((s) => s.models?.roles?.main || s.hub.provider);
  const backends = useShell((s) => s.hub.providers);
  const providers = profiles?.map((p) => p.id) ?? backends;
  const hasAccount = useHasAccount();
  return (
    <>
      <div className="menu-title">{t.providerMenu}</div>
      {providers.map((p) => (
        <MenuItem
          key={p}
          checked={p === provider}
          icon={<Cpu size={14} aria-hidden />}
          hint={p === defaultProvider ? t.providerDefault : undefined}
          onSelect={() => {
            close();
            if (p === provider) return;
            onChoose?.(p);
            commands.setProvider(p);
          }}
        >
          {profileName(p, profiles)}
        </MenuItem>
      ))}
      {providers.length < 2 && <div className="menu-title">{t.providerNone}</div>}
      {hasAccount && <hr />}
      {hasAccount && (
        <MenuItem
          icon={<Plug size={14} aria-hidden />}
          onSelect={() => {
            close();
            commands.openPanel("connect");
          }}
        >
          {t.connect}
        </MenuItem>
      )}
    </>
  );
}
