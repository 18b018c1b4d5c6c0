import { Download, NotebookPen, Pin, PinOff, Search } from "lucide-react";
import { type ReactNode, useContext, useEffect, useState } from "react";
import { type App, openApp, useApps } from "../canvas/apps.js";
import { hueOf } from "../canvas/kind.js";
import { useTexts } from "../i18n/use.js";
import { ShellContext, useCommands, useShell } from "../shell/context.js";
import { useHasAccount, useMonitor } from "../shell/select.js";
import { launcher as texts } from "../texts/launcher.js";
import { IconButton } from "../ui/button.js";
import { isComposing } from "../ui/keys.js";
import { Modal } from "../ui/modal.js";
import { AppPicture } from "./app-picture.js";
import { install } from "./open-template.js";
import { type MarketApp, matching, withPin } from "./search.js";
import { TemplateList } from "./template-list.js";
import { templateIds } from "./templates.js";
import { useTemplate } from "./use-template.js";

/** All apps and templates, with a search field. Enter opens the first one that is found. */
export function LauncherPanel(): ReactNode {
  const t = useTexts(texts);
  const { store, commands } = useContext(ShellContext)!;
  const monitor = useMonitor();
  const hasAccount = useHasAccount();
  const apps = useApps();
  const pinned = useShell((s) => s.account?.pinnedApps);
  const [text, setText] = useState("");
  const [installing, setInstalling] = useState("");
  const market = useMarket(hasAccount);
  const openTemplate = useTemplate();
  const close = (): void => commands.openPanel("");
  const launch = (app: App): void => {
    close();
    commands.send("EMIT", { actions: [openApp(app, monitor, store.getState().desktop.windows.values())], monitorId: monitor });
  };
  const installAndOpen = async (offer: MarketApp): Promise<void> => {
    setInstalling(offer.id);
    const app = await install(commands, offer.id).catch(() => undefined);
    setInstalling("");
    if (app === undefined) return commands.notify(t.notInstalled, "warning");
    commands.send("EMIT", { actions: [{ type: "desktop.refreshApps" }], monitorId: monitor });
    launch(app);
  };
  const pin = (id: string): void => {
    if (pinned !== undefined) void commands.changeAccount("pinnedApps", withPin(pinned, id)).catch(() => commands.notify(t.notOpened, "warning"));
  };
  const mine = matching(apps, text);
  const offers = matching((market ?? []).filter((o) => !apps.some((a) => a.id === o.id)), text);
  const templates = matching(templateIds.map((id) => ({ id, name: t[id], description: t[`${id}Hint`] })), text).map((m) => m.id);
  const pickTemplate = (id: (typeof templateIds)[number]): void => {
    close();
    openTemplate(id);
  };
  const blanks = matching([{ id: "notebook", name: t.notebook, description: t.notebookHint }], text);
  const openBlank = (): void => {
    close();
    void import("../content/notebook/open.js").then(({ openNotebook }) => openNotebook(commands, store.getState()));
  };
  const openFirst = (): void => {
    if (mine[0] !== undefined) launch(mine[0]);
    else if (offers[0] !== undefined) void installAndOpen(offers[0]);
    else if (templates[0] !== undefined) pickTemplate(templates[0]);
    else if (blanks.length > 0) openBlank();
  };
  const nothing = mine.length + offers.length + templates.length + blanks.length === 0;
  return (
    <Modal title={t.title} closeLabel={t.close} onClose={close} shape="wide">
      <form
        className="launcher"
        onSubmit={(e) => {
          e.preventDefault();
          openFirst();
        }}
      >
        <label className="launcher-search">
          <Search size={16} aria-hidden />
          <input
            className="field"
            type="search"
            autoFocus
            value={text}
            placeholder={t.search}
            aria-label={t.search}
            onChange={(e) => setText(e.target.value)}
            onKeyDown={(e) => {
              if (e.key === "Enter" && isComposing(e)) e.preventDefault();
            }}
          />
        </label>
        {mine.length > 0 && (
          <section aria-label={t.yours}>
            <h3>{t.yours}</h3>
            <ul className="launcher-apps">
              {mine.map((a) => (
                <li key={a.id} className="launcher-app">
                  <button type="button" className="launcher-open" data-launch={a.id} title={a.description} onClick={() => launch(a)}>
                    <span className={`launcher-tile kind kind-${hueOf(a.id)}`}>
                      <AppPicture app={a} />
                    </span>
                    <span className="launcher-name">{a.name}</span>
                  </button>
                  {pinned !== undefined && (
                    <IconButton icon={pinned.includes(a.id) ? PinOff : Pin} size={13} aria-pressed={pinned.includes(a.id)} label={pinned.includes(a.id) ? t.unpin(a.name) : t.pin(a.name)} onClick={() => pin(a.id)} />
                  )}
                </li>
              ))}
            </ul>
          </section>
        )}
        {offers.length > 0 && (
          <section aria-label={t.market}>
            <h3>{t.market}</h3>
            <ul className="launcher-apps">
              {offers.map((o) => (
                <li key={o.id} className="launcher-app">
                  <button type="button" className="launcher-open" data-install={o.id} title={o.description} aria-label={t.installOpen(o.name)} disabled={installing !== ""} onClick={() => void installAndOpen(o)}>
                    <span className={`launcher-tile kind kind-${hueOf(o.id)}`} aria-hidden>
                      {installing === o.id ? <Download size={20} /> : <AppPicture app={o} />}
                    </span>
                    <span className="launcher-name">{installing === o.id ? t.installing : o.name}</span>
                  </button>
                </li>
              ))}
            </ul>
          </section>
        )}
        {templates.length > 0 && (
          <section aria-label={t.templates}>
            <h3>{t.templates}</h3>
            <TemplateList ids={templates} onOpen={pickTemplate} />
          </section>
        )}
        {blanks.length > 0 && (
          <section aria-label={t.blank}>
            <h3>{t.blank}</h3>
            <ul className="launcher-apps">
              <li className="launcher-app">
                <button type="button" className="launcher-open" data-launch="notebook" title={t.notebookHint} onClick={openBlank}>
                  <span className={`launcher-tile kind kind-${hueOf("notebook")}`} aria-hidden>
                    <NotebookPen size={20} />
                  </span>
                  <span className="launcher-name">{t.notebook}</span>
                </button>
              </li>
            </ul>
          </section>
        )}
        {market === undefined && hasAccount && <p role="status">{t.reading}</p>}
        {nothing && market !== undefined && (
          <div className="empty">
            <p>{t.none}</p>
            <small>{t.noneHint}</small>
          </div>
        )}
      </form>
    </Modal>
  );
}

/** The apps that can be installed; undefined until they are read, none for guests. */
function useMarket(hasAccount: boolean): readonly MarketApp[] | undefined {
  const { api } = useCommands();
  const [market, setMarket] = useState<readonly MarketApp[] | undefined>(hasAccount ? undefined : []);
  useEffect(() => {
    if (!hasAccount) return;
    let over = false;
    api.ask<{ apps: MarketApp[] }>("GET", "/api/market").then(
      (all) => over || setMarket(all.apps),
      () => over || setMarket([]),
    );
    return () => {
      over = true;
    };
  }, [api, hasAccount]);
  return market;
}
