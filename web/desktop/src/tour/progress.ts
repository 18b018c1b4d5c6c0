import { useEffect, useState } from "react";
import { firstMonitor, limits, type MonitorID } from "../../../core/src/index.js";
import { useTexts } from "../i18n/use.js";
import { useCommands, useEvents, useShell } from "../shell/context.js";
import { useHasAccount, useMonitor, useMonitors } from "../shell/select.js";
import { forTab } from "../shell/storage.js";
import { tour as texts } from "../texts/tour.js";
import { type AgentStep, closedMark, endedSteps, knownSteps, type Progress, readProgress, requests, resume, type Step, withDone } from "./steps.js";

/** Whether the user has closed the tour; undefined until that is known. Guests have no settings, so that their browser keeps it. */
export function useToured(): boolean | undefined {
  const here = useShell((s) => s.prefs.toured);
  const steps = useShell((s) => s.account?.tourSteps);
  const guest = !useHasAccount();
  return guest ? here : steps?.includes(closedMark);
}

/**
 * The progress of this tab in the tour, and a function that changes it. It detects steps that complete by themselves.
 */
export function useProgress(): [Progress, (change: (p: Progress) => Progress) => void] {
  const session = useShell((s) => s.session);
  const outbox = useShell((s) => s.outbox.items);
  const tabs = useShell((s) => s.desktop.connections);
  const provider = useShell((s) => s.desktop.provider || s.hub.provider);
  const key = `everdesk.tour.${session}`;
  const [progress, change] = useState(() => resume(readProgress(forTab.getItem(key)), outbox));
  useEffect(() => forTab.setItem(key, JSON.stringify(progress)), [key, progress]);

  const happened: Step[] = endedSteps(progress, outbox);
  if (Object.keys(progress.sent).length > 0) {
    if (tabs > 1) happened.push("secondTab");
    if (provider !== "" && provider !== "demo") happened.push("model");
  }
  // The steps that the user did in other browsers.
  const account = useShell((s) => s.account);
  const next = withDone(progress, [...happened, ...knownSteps(account?.tourSteps ?? [])]);
  if (next !== progress) change(next);
  const commands = useCommands();
  const { done } = progress;
  useEffect(() => {
    if (account === undefined || done.every((s) => account.tourSteps.includes(s))) return;
    void commands.changeAccount("tourSteps", [...new Set([...account.tourSteps, ...done])]).catch(() => undefined);
  }, [account, done, commands]);
  // The event is delivered before the shell state has the new owner.
  const owner = useShell((s) => s.desktop.owner);
  useEvents((e) => {
    if (e.type !== "OWNER_CHANGED" || owner === "" || owner === e.data.replica) return;
    change((p) => (Object.keys(p.sent).length > 0 ? withDone(p, ["restart"]) : p));
  });
  return [progress, change];
}

/** Returns a function that starts a step of an agent and records it; it returns whether the message was sent. */
export function useAgentStep(change: (how: (p: Progress) => Progress) => void): (step: AgentStep) => boolean {
  const t = useTexts(texts);
  const commands = useCommands();
  const language = useShell((s) => s.language);
  const shown = useMonitor();
  const monitors = useMonitors();
  return (step) => {
    let monitor: MonitorID | undefined = shown;
    if (step === "background") {
      monitor = commands.addMonitor(limits.monitors, false) ?? monitors.findLast((m) => m.monitorId !== firstMonitor && m.monitorId !== shown)?.monitorId;
      if (monitor === undefined) {
        commands.notify(t.noMonitor, "warning");
        return false;
      }
    }
    const id = commands.sendMessage(requests[language][step], monitor);
    if (id === undefined) {
      commands.notify(t.notSent, "warning");
      return false;
    }
    change((p) => ({ ...p, sent: { ...p.sent, [step]: id }, done: p.done.filter((s) => s !== step) }));
    return true;
  };
}
