import "./bar.css";
import { ArrowUp, ListTodo, Monitor, Paperclip, Pin, Square } from "lucide-react";
import { lazy, type ReactNode, Suspense, useContext, useId, useLayoutEffect, useMemo, useRef, useState } from "react";
import { type AgentID, limits, type MonitorID } from "../../../core/src/index.js";
import { useTexts } from "../i18n/use.js";
import { ShellContext, useCommands, useShell } from "../shell/context.js";
import { monitorNumber, useHasAccount, useMonitor } from "../shell/select.js";
import { dock as texts } from "../texts/entry.js";
import { IconButton } from "../ui/button.js";
import { isComposing } from "../ui/keys.js";
import { kindOf } from "./agents.js";
import { useBarKeys } from "./bar-keys.js";
import { useDraft } from "./drafts.js";
import { useNarrow } from "./fitting.js";
import { type Browsing, browse, notBrowsing, typedBefore } from "./history.js";
import { fits } from "./pictures.js";
import { useRunSlash } from "./run-slash.js";
import { isForAgent, parseSlash, planIn, type SlashWorld, type Suggestion, suggest } from "./slash.js";
import { usePictures } from "./use-pictures.js";

const ResetQuestion = lazy(async () => ({ default: (await import("./reset-question.js")).ResetQuestion }));
const SlashList = lazy(async () => ({ default: (await import("./slash-list.js")).SlashList }));
const Thumbs = lazy(async () => ({ default: (await import("./thumbs.js")).Thumbs }));
const VoiceButton = lazy(async () => ({ default: (await import("./voice-button.js")).VoiceButton }));
const LastStatus = lazy(async () => ({ default: (await import("./last-status.js")).LastStatus }));

/** The field for messages to the agent of the shown monitor. */
export function CommandBar(): ReactNode {
  const t = useTexts(texts);
  const commands = useCommands();
  const monitor = useMonitor();
  const pinned = useShell((s) => s.view.pinned);
  const planFirst = useShell((s) => s.planFirst);
  const providers = useShell((s) => s.hub.providers);
  const runs = useMainAgent(monitor);
  const [draft, setDraft] = useDraft(monitor);
  const pictures = usePictures(monitor, draft);
  const [confirmingReset, setConfirmingReset] = useState(false);
  const [dropping, setDropping] = useState(false);
  const box = useRef<HTMLFormElement>(null);
  const field = useRef<HTMLTextAreaElement>(null);
  const file = useRef<HTMLInputElement>(null);
  const runSlash = useRunSlash(monitor, () => setConfirmingReset(true));
  const account = useHasAccount();
  const modes = useShell((s) => (s.ownSession ? s.modes : undefined));
  const world = useMemo(() => ({ providers, modes: modes?.modes.map((m) => m.id) ?? [], monitors: limits.monitors, account }), [providers, modes, account]);
  const list = useSuggestions(draft, world);
  const hint = useId();
  const history = useHistory(draft, setDraft, field);
  const { stopping, stop } = useStop(monitor, runs);
  const escHint = useBarKeys(field, runs !== undefined ? stop : undefined);
  useGrowing(field, draft);
  const narrow = useNarrow(field, wholePlaceholder);

  const clearDraft = (): void => {
    setDraft("");
    history.leave();
  };

  /** Runs a slash command or sends the text. The draft stays if it cannot be sent. */
  const submit = async (typed: string): Promise<void> => {
    let content = typed.trim().normalize("NFC");
    const attached = pictures.pictures.length > 0;
    if (content === "" && !attached) return;
    const planRequest = planIn(content);
    const slash = attached || planRequest !== undefined ? undefined : parseSlash(content, world);
    content = planRequest ?? content;
    if (slash !== undefined) {
      if ("wrong" in slash) {
        const choices = suggest(`/${slash.name} `, world).map((s) => s.text.split(" ")[1]!);
        return commands.notify(t.slashWrong(slash.name, choices.join(", ")), "warning");
      }
      clearDraft();
      return runSlash(slash);
    }
    let fitted = pictures.fitted ?? [];
    if (attached && (pictures.fitted === undefined || !fits(content, fitted.map((f) => f.url)))) {
      const again = await pictures.refit(content);
      if (again === undefined) return commands.notify(t.noRoom, "warning");
      fitted = again;
    }
    const urls = fitted.map((f) => f.url);
    if (!fits(content, urls)) return commands.notify(t.tooLong, "warning");
    if (commands.sendMessage(content, monitor, urls, planFirst || planRequest !== undefined) === undefined) return commands.notify(t.keptDraft, "warning", 6000);
    commands.setPlanFirst(false);
    pictures.clear();
    clearDraft();
  };

  const choose = (s: Suggestion): void => {
    if (s.whole) void submit(s.text);
    else setDraft(s.text);
  };

  const addFiles = (files: FileList): void => {
    if (files.length > 0) pictures.add(files);
  };

  const number = monitorNumber(monitor);
  return (
    <>
      <form
        ref={box}
        className={dropping ? "dock-bar dock-bar-drop" : "dock-bar"}
        data-mode={planFirst ? "plan" : "chat"}
        onSubmit={(e) => {
          e.preventDefault();
          void submit(draft);
        }}
        onDragOver={(e) => {
          if (!e.dataTransfer.types.includes("Files")) return;
          e.preventDefault();
          setDropping(true);
        }}
        onDragLeave={(e) => {
          if (!e.currentTarget.contains(e.relatedTarget as Node | null)) setDropping(false);
        }}
        onDrop={(e) => {
          setDropping(false);
          if (!e.dataTransfer.types.includes("Files")) return;
          e.preventDefault();
          addFiles(e.dataTransfer.files);
        }}
      >
        <Suspense>{(pictures.pictures.length > 0 || pictures.reading) && <Thumbs pictures={pictures} />}</Suspense>
        <div className="dock-bar-row">
          <IconButton icon={Paperclip} label={t.attach} onClick={() => file.current?.click()} />
          <input
            ref={file}
            type="file"
            multiple
            hidden
            onChange={(e) => {
              addFiles(e.target.files!);
              e.target.value = "";
            }}
          />
          <textarea
            ref={field}
            data-command-bar
            className="dock-field"
            rows={1}
            value={draft}
            placeholder={placeholderOf(t, planFirst, runs !== undefined, narrow)}
            aria-label={t.say}
            aria-describedby={hint}
            aria-autocomplete="list"
            aria-controls={list.open ? list.id : undefined}
            aria-activedescendant={list.open ? `${list.id}-${list.chosen}` : undefined}
            autoComplete="off"
            enterKeyHint="send"
            onChange={(e) => {
              setDraft(e.target.value);
              if (e.target.value.length > mostDraft) commands.notify(t.cutDraft, "warning");
              history.leave();
            }}
            onPaste={(e) => {
              const { files } = e.clipboardData;
              if (files.length === 0 || e.clipboardData.types.includes("text/plain")) return;
              e.preventDefault();
              addFiles(files);
            }}
            onBlur={list.close}
            onFocus={list.reopen}
            onKeyDown={(e) => {
              if (isComposing(e)) return;
              if (list.key(e, choose, setDraft) || history.key(e)) return e.preventDefault();
              if (e.key === "Enter" && !e.shiftKey && !e.altKey) {
                e.preventDefault();
                void submit(draft);
              }
            }}
          />
          <button
            type="button"
            className="dock-mode"
            aria-pressed={planFirst}
            aria-keyshortcuts="Alt+P"
            title={planFirst ? t.planOnTip : t.planOffTip}
            onClick={() => {
              commands.setPlanFirst(!planFirst);
              field.current?.focus();
            }}
          >
            <ListTodo size={14} aria-hidden />
            <span>{t.planFirst}</span>
          </button>
          <span className="dock-target" title={pinned ? t.pinnedTip(number) : t.targetTip(number)}>
            {pinned ? <Pin size={12} aria-hidden /> : <Monitor size={12} aria-hidden />}
            <span>{t.target(number)}</span>
          </span>
          <Suspense>{canDictate && <VoiceButton draft={draft} setDraft={setDraft} />}</Suspense>
          {runs !== undefined && <IconButton icon={Square} size={14} className="dock-stop" label={t.stop} disabled={stopping} onClick={stop} />}
          <button
            type="submit"
            className="dock-send"
            aria-label={t.send}
            title={t.send}
            disabled={draft.trim() === "" && pictures.pictures.length === 0}
          >
            <ArrowUp size={16} aria-hidden />
          </button>
        </div>
        <p id={hint} className="dock-hint" role="status">
          {dropping ? t.dropHere : escHint ? t.stopAgain : isForAgent(draft, world) ? t.forAgent : (
            <Suspense>
              <LastStatus monitor={monitor} />
            </Suspense>
          )}
        </p>
        <Suspense>{list.open && <SlashList id={list.id} suggestions={list.suggestions} chosen={list.chosen} anchor={box} onChoose={choose} />}</Suspense>
      </form>
      <Suspense>{confirmingReset && <ResetQuestion onClose={() => setConfirmingReset(false)} />}</Suspense>
    </>
  );
}

/** The text of the empty field. Each has a form for a narrow field, which would cut it. */
export function placeholderOf(t: (typeof texts)["en"], plan: boolean, running: boolean, narrow: boolean): string {
  if (plan) return narrow ? t.placeholderPlanShort : t.placeholderPlan;
  if (running) return narrow ? t.placeholderRunningShort : t.placeholderRunning;
  return narrow ? t.placeholderShort : t.placeholder;
}

/** The main agent of a monitor while it is running. */
function useMainAgent(monitor: MonitorID): AgentID | undefined {
  return useShell((s) => {
    for (const a of s.desktop.agents.values()) if (kindOf(a) === "main" && a.monitorId === monitor && a.status !== "idle") return a.role;
    return undefined;
  });
}

/** Stops the monitor. `stopping` stays true until its agent ends. */
function useStop(monitor: MonitorID, runs: AgentID | undefined): { stopping: boolean; stop: () => void } {
  const commands = useCommands();
  const [asked, setAsked] = useState<AgentID>();
  return {
    stopping: asked !== undefined && asked === runs,
    stop: () => {
      setAsked(runs);
      commands.stopMonitor(monitor);
    },
  };
}

interface Suggestions {
  id: string;
  open: boolean;
  suggestions: readonly Suggestion[];
  chosen: number;
  close: () => void;
  reopen: () => void;
  /** Handles a key for the list; returns whether it did. */
  key: (e: React.KeyboardEvent, choose: (s: Suggestion) => void, complete: (text: string) => void) => boolean;
}

function useSuggestions(draft: string, world: SlashWorld): Suggestions {
  const id = useId();
  const suggestions = useMemo(() => suggest(draft, world), [draft, world]);
  const [at, setAt] = useState({ draft: "", chosen: 0 });
  const [closed, setClosed] = useState<string>();
  const [focused, setFocused] = useState(false);
  const chosen = at.draft === draft ? Math.min(at.chosen, suggestions.length - 1) : 0;
  const open = focused && suggestions.length > 0 && closed !== draft && !(suggestions.length === 1 && suggestions[0]!.text === draft.trimEnd());
  return {
    id,
    open,
    suggestions,
    chosen,
    close: () => setFocused(false),
    reopen: () => setFocused(true),
    key: (e, choose, complete) => {
      if (!open) return false;
      const step = { ArrowDown: 1, ArrowUp: -1 }[e.key];
      if (step !== undefined) setAt({ draft, chosen: (chosen + step + suggestions.length) % suggestions.length });
      else if (e.key === "Tab" && !e.shiftKey) complete(suggestions[chosen]!.text);
      else if (e.key === "Enter" && !e.shiftKey) choose(suggestions[chosen]!);
      else if (e.key === "Escape") setClosed(draft);
      else return false;
      e.stopPropagation();
      return true;
    },
  };
}

function useHistory(
  draft: string,
  setDraft: (text: string) => void,
  field: React.RefObject<HTMLTextAreaElement | null>,
): { key: (e: React.KeyboardEvent<HTMLTextAreaElement>) => boolean; leave: () => void } {
  const { store } = useContext(ShellContext)!;
  const at = useRef<Browsing>(notBrowsing);
  return {
    leave: () => {
      at.current = notBrowsing;
    },
    key: (e) => {
      const step = { ArrowUp: "older", ArrowDown: "newer" }[e.key] as "older" | "newer" | undefined;
      if (step === undefined || e.shiftKey || e.altKey || e.ctrlKey || e.metaKey) return false;
      const { selectionStart: from, selectionEnd: to, value } = e.currentTarget;
      const browsing = at.current.back > 0;
      const atEdge = from === to && (from === 0 || (browsing && from === value.length));
      if (!atEdge || (step === "newer" && !browsing)) return false;
      const { desktop, outbox } = store.getState();
      const next = browse(typedBefore(desktop.rows, outbox.items), at.current, step, draft);
      if (next === undefined) return false;
      at.current = next.at;
      setDraft(next.text);
      requestAnimationFrame(() => field.current?.setSelectionRange(next.text.length, next.text.length));
      return true;
    },
  };
}

/** Whether the browser can turn speech into text. */
const canDictate = "SpeechRecognition" in globalThis || "webkitSpeechRecognition" in globalThis;

/** The longest stored draft, in characters. */
const mostDraft = 64 << 10;

/** The width of the field from which on the longest placeholder fits, in px. */
const wholePlaceholder = 260;

const mostHeight = 8 * 20 + 12;

/** Grows the field with its text, up to eight lines. */
function useGrowing(field: React.RefObject<HTMLTextAreaElement | null>, text: string): void {
  useLayoutEffect(() => {
    const { style } = field.current!;
    style.height = "auto";
    style.height = `${Math.min(field.current!.scrollHeight, mostHeight)}px`;
    style.overflowY = field.current!.scrollHeight > mostHeight ? "auto" : "hidden";
  }, [field, text]);
}
