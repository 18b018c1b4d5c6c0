// Sharing one moment of the film.

import { Link2 } from "lucide-react";
import { type ReactNode, useEffect, useState } from "react";
import { useFormat, useTexts } from "../i18n/use.js";
import { ApiError } from "../shell/api.js";
import { useCommands, useShell } from "../shell/context.js";
import { film as texts } from "../texts/film.js";
import { Button } from "../ui/button.js";

/** What was copied, or could not be. */
interface Outcome {
  readonly url: string;
  /** When the link ends; undefined for the address of the film, which does not. */
  readonly until?: number;
  readonly why?: string;
}

/**
 * Copies a link to a moment. The owner makes one that shows that moment and nothing else, without signing in. For others, and on a hub
 * without sign-in, it is the address of the moment in the film, which opens for people who may read the session.
 */
export function Share({ at }: { at: string }): ReactNode {
  const t = useTexts(texts);
  const format = useFormat();
  const { api } = useCommands();
  const session = useShell((s) => s.session);
  const signsIn = useShell((s) => s.me.auth !== "none");
  const [outcome, setOutcome] = useState<Outcome>();
  const [busy, setBusy] = useState(false);
  useEffect(() => setOutcome(undefined), [at]);
  const address = `${location.origin}/?${new URLSearchParams({ session, film: at })}`;
  const make = async (): Promise<Outcome> => {
    if (!signsIn) return { url: address };
    try {
      const made = await api.ask<{ url: string; expiresAt: string }>("POST", `/api/sessions/${encodeURIComponent(session)}/links`, { at, label: t.shareLabel });
      return { url: made.url, until: Date.parse(made.expiresAt) };
    } catch (error) {
      if (error instanceof ApiError && error.status === 403) return { url: address }; // only the owner makes links
      throw error;
    }
  };
  const share = async (): Promise<void> => {
    setBusy(true);
    try {
      const made = await make();
      // The clipboard is unavailable in insecure contexts.
      const copied = await navigator.clipboard?.writeText(made.url).then(() => true, () => false);
      setOutcome(copied === true ? made : { ...made, why: "clipboard" });
    } catch (error) {
      setOutcome({ url: "", why: error instanceof Error ? error.message : String(error) });
    } finally {
      setBusy(false);
    }
  };
  const said = ({ url, until, why }: Outcome): string => {
    if (url === "") return t.shareFailed(why ?? "");
    if (why !== undefined) return url; // to be copied by hand
    return until === undefined ? t.shared : t.sharedUntil(format.moment(until));
  };
  return (
    <>
      <Button icon={Link2} disabled={busy || at === "" || at === "0-0"} onClick={() => void share()} data-film-share={address}>
        {t.share}
      </Button>
      <span className="film-hint" role="status" data-film-shared={outcome?.url}>
        {outcome !== undefined && said(outcome)}
      </span>
    </>
  );
}
