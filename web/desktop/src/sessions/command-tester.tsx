import { CircleCheck, CircleHelp, CircleX } from "lucide-react";
import { type ReactNode, useEffect, useState } from "react";
import type { AutoApproval } from "../../../core/src/index.js";
import { useTexts } from "../i18n/use.js";
import type { ApprovalVerdict } from "../shell/api.js";
import { useCommands } from "../shell/context.js";
import { alone as texts } from "../texts/alone.js";

/** The delay in ms between the last key and the question to the hub. */
const typingPause = 250;

/** Shows how the rules decide on a command, and why, before they are saved. */
export function CommandTester({ rules }: { rules: AutoApproval }): ReactNode {
  const t = useTexts(texts);
  const commands = useCommands();
  const [line, setLine] = useState("");
  const [verdict, setVerdict] = useState<ApprovalVerdict | "failed">();
  const asked = JSON.stringify(rules);
  useEffect(() => {
    if (line.trim() === "") return setVerdict(undefined);
    let current = true;
    const timer = setTimeout(() => {
      commands.api
        .testApproval(JSON.parse(asked) as AutoApproval, line)
        .then((v) => current && setVerdict(v))
        .catch(() => current && setVerdict("failed"));
    }, typingPause);
    return () => {
      current = false;
      clearTimeout(timer);
    };
  }, [asked, commands, line]);
  return (
    <section className="sessions-set sessions-lists" aria-label={t.tester}>
      <label>
        {t.tester}
        <input spellCheck={false} value={line} placeholder="git status" onChange={(e) => setLine(e.target.value)} />
        <small>{t.testerHint}</small>
      </label>
      <output className="sessions-verdict">
        {verdict === "failed" && t.testFailed}
        {verdict !== undefined && verdict !== "failed" && <Verdict verdict={verdict} />}
      </output>
    </section>
  );
}

const icons = { approve: CircleCheck, deny: CircleX, ask: CircleHelp } as const;

function Verdict({ verdict }: { verdict: ApprovalVerdict }): ReactNode {
  const t = useTexts(texts);
  const Icon = icons[verdict.verdict] ?? CircleHelp;
  const command = verdict.command ?? "";
  const rule = verdict.rule ?? "";
  const reasons: Record<string, string> = {
    off: t.whyOff,
    kind: t.whyKind,
    empty: t.whyEmpty,
    too_long: t.whyLong,
    allowed: t.whyAllowed(rule),
    denied: rule === "" ? t.whyDeniedSomewhere : t.whyDenied(rule),
    no_rule: t.whyNoRule(command),
    unclear: t.whyUnclear,
  };
  const names: Record<string, string> = { approve: t.approve, deny: t.deny, ask: t.ask };
  return (
    <>
      <Icon size={16} aria-hidden />
      <strong>{names[verdict.verdict] ?? t.ask}</strong> {reasons[verdict.reason] ?? ""}
    </>
  );
}
