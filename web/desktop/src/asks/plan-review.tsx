import { Check, PencilLine, X } from "lucide-react";
import { type KeyboardEvent, type ReactNode, useEffect, useId, useState } from "react";
import type { HITLRequest, TodoID } from "../../../core/src/index.js";
import { useFormat, useTexts } from "../i18n/use.js";
import { Details } from "../plan/details.js";
import { Graph } from "../plan/graph.js";
import { useFacts } from "../plan/use.js";
import { useCommands } from "../shell/context.js";
import { asks as texts } from "../texts/asks.js";
import { Button } from "../ui/button.js";
import { Kbd } from "../ui/kbd.js";
import { isComposing } from "../ui/keys.js";
import { usePress } from "./arming.js";
import { messageOf } from "./facts.js";
import { LaterButton } from "./later-button.js";
import type { PlanFormProps } from "./plan.js";

type Review = Extract<HITLRequest, { type: "hitl_plan_review" }>;

/** The form that approves, rejects or changes a plan before it runs, with the plan itself. */
export function ReviewForm({ request, ready, keys, onLater, refused }: PlanFormProps<Review>): ReactNode {
  const t = useTexts(texts);
  const commands = useCommands();
  const press = usePress(ready);
  const [changing, setChanging] = useState(false);
  const { request_id, options } = request;

  const answer = (what: { action: "approve" | "reject" } | { action: "modify"; instruction: string }): void => {
    if (commands.send("hitl_plan_response", { request_id, ...what }) === undefined) commands.notify(t.full, "warning");
  };
  useEffect(() => {
    keys.current = changing ? {} : { approve: () => answer({ action: "approve" }), reject: () => answer({ action: "reject" }) };
  });
  return (
    <>
      <Plan request={request} list={onLater === undefined} />
      {changing ? (
        <Instruction
          ready={ready}
          problem={refused !== undefined && refused.code === 5002 ? refused.reason : ""}
          onSend={(instruction) => answer({ action: "modify", instruction })}
          onBack={() => setChanging(false)}
        />
      ) : (
        <div className="asks-buttons">
          <LaterButton onLater={onLater} />
          {options.includes("reject") && (
            <Button icon={X} {...press(() => answer({ action: "reject" }))} aria-keyshortcuts="R">
              {t.rejectPlan}
              <Kbd combo="r" />
            </Button>
          )}
          {options.includes("modify") && (
            <Button icon={PencilLine} onClick={() => setChanging(true)}>
              {t.changePlan}
            </Button>
          )}
          <Button kind="primary" icon={Check} {...press(() => answer({ action: "approve" }))} aria-keyshortcuts="A">
            {t.approvePlan}
            <Kbd combo="a" />
          </Button>
        </div>
      )}
    </>
  );
}

/** The todos of the plan, with their totals. `list` shows them without the graph, for which the inbox has no room. */
function Plan({ request, list }: { request: Review; list: boolean }): ReactNode {
  const t = useTexts(texts);
  const format = useFormat();
  const facts = useFacts();
  const [chosen, setChosen] = useState<TodoID>();
  const { todos, estimated_duration_sec: seconds, estimated_cost_usd: usd } = request.plan;
  const asking = todos.filter((todo) => todo.requires_approval === true).length;
  const todo = todos.find((d) => d.id === chosen);
  const message = messageOf({ request });
  const sums = [t.todoCount(todos.length), seconds ? t.inAll(format.elapsed(seconds * 1000)) : "", usd ? format.usd(usd) : "", asking > 0 ? t.asksLater(asking) : ""];
  return (
    <>
      {message !== "" && <p className="asks-review-message">{message}</p>}
      <p className="asks-state">{sums.filter(Boolean).join(" · ")}</p>
      <div className="asks-review" data-scrolls>
        <Graph todos={todos} chosen={chosen} onChoose={(id) => setChosen(id === chosen ? undefined : id)} now={0} list={list} />
        {todo !== undefined && <Details todo={todo} facts={{ ...facts, asks: [] }} onClose={() => setChosen(undefined)} />}
      </div>
    </>
  );
}

interface InstructionProps {
  ready: boolean;
  problem: string;
  onSend: (text: string) => void;
  onBack: () => void;
}

function Instruction({ ready, problem, onSend, onBack }: InstructionProps): ReactNode {
  const t = useTexts(texts);
  const [text, setText] = useState("");
  const enough = text.trim() !== "";
  const press = usePress(ready && enough);
  const hint = useId();
  const send = (): void => onSend(text.trim().normalize("NFC"));
  const onKey = (e: KeyboardEvent): void => {
    if (isComposing(e) || !e.nativeEvent.isTrusted) return;
    if (e.key === "Escape") {
      e.stopPropagation();
      onBack();
    } else if (e.key === "Enter" && !e.shiftKey) {
      e.preventDefault();
      if (ready && enough) send();
    }
  };
  return (
    <>
      <label className="asks-field">
        <span>{t.instruction}</span>
        <textarea
          className="field"
          rows={2}
          autoFocus
          value={text}
          aria-describedby={hint}
          aria-invalid={problem !== ""}
          onChange={(e) => setText(e.target.value)}
          onKeyDown={onKey}
        />
        <small id={hint} className={problem === "" ? undefined : "asks-problem"}>
          {problem || t.instructionHint}
        </small>
      </label>
      <div className="asks-buttons">
        <Button kind="ghost" onClick={onBack}>
          {t.back}
        </Button>
        <Button kind="primary" icon={PencilLine} {...press(send)}>
          {t.sendInstruction}
        </Button>
      </div>
    </>
  );
}
