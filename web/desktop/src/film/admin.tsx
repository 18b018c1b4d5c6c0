// The film of a session for admins. It reads the admin API, which opens no session and records who watches; the components are those
// of the desktop, and their commands send nothing.

import type { ReactNode } from "react";
import type { Root } from "react-dom/client";
import { tailAddress } from "../../../admin/src/api/api.js";
import { subscribe } from "../../../admin/src/state/live.js";
import { decodeEvent, type HubEvent, type SessionID } from "../../../core/src/index.js";
import type { Language } from "../i18n/texts.js";
import { Api } from "../shell/api.js";
import type { Page } from "../shell/boot.js";
import { PageContext, ShellContext } from "../shell/context.js";
import { usePageTheme } from "../shell/theme.js";
import { film as texts } from "../texts/film.js";
import { FilmDialog } from "./index.js";
import { stillPage } from "./still.js";

/** The session whose film an address shows to admins; undefined for other addresses. */
export function watchedSession(path: string): SessionID | undefined {
  return /^\/admin\/film\/([\w.-]+)$/.exec(path)?.[1];
}

/** Draws the film of a session. */
export function startAdminFilm(root: Root, language: Language, session: SessionID): void {
  document.title = texts[language].titleOf(session);
  const page = adminPage(session, language);
  root.render(
    <PageContext value={page}>
      <ShellContext value={page}>
        <Watched session={session} />
      </ShellContext>
    </PageContext>,
  );
}

function Watched({ session }: { session: SessionID }): ReactNode {
  usePageTheme();
  return <FilmDialog onClose={() => location.assign(`/admin/sessions/${encodeURIComponent(session)}`)} />;
}

/** The requests that the admin API answers: where a film begins, and pages of the log. */
const known = /^\/api\/sessions(\/[^/]+\/(?:film|events)(?:\?.*)?)$/;

/** Reads a session with the admin API. What it does not have, such as checkpoints, is missing. */
async function readAsAdmin(input: RequestInfo | URL, init?: RequestInit): Promise<Response> {
  const path = known.exec(String(input))?.[1];
  if (path === undefined) return new Response(null, { status: 404 });
  const r = await fetch(`/api/admin/sessions${path}`, { credentials: "same-origin", ...init });
  if (r.status === 401) location.assign("/admin"); // it asks to sign in
  return r;
}

function adminPage(session: SessionID, language: Language): Page {
  const hub = { version: "", appsOrigin: "", providers: [], provider: "" };
  const listen: Page["listen"] = (hear) => follow(session, (e) => hear(e, false));
  return stillPage({ session, language, api: new Api(readAsAdmin), me: { user: "", roles: [], session }, hub, listen });
}

/** Says that events are missing, which the film then reads from the log. */
const gap = { type: "session_state", data: { mode: "snapshot" } } as HubEvent;

/** Follows the log of a session until the returned function is called. */
function follow(session: SessionID, hear: (e: HubEvent) => void): () => void {
  return subscribe({
    address: tailAddress(session, {}),
    kinds: ["event", "trimmed"],
    // A stream begins with the next event: those before it are only in the log.
    onLink: (link) => link === "live" && hear(gap),
    shouldReconnect: () => Promise.resolve(true),
    onEvent: (kind, data) => {
      const event = kind === "event" ? decodeEvent(JSON.stringify(data)) : gap;
      if (event !== undefined) hear(event);
    },
  });
}
