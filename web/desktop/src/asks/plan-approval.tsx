import { Check, CircleX, SkipForward } from "lucide-react";
import { type ReactNode, useEffect } from "react";
import type { HITLRequest, TodoAnswer } from "../../../core/src/index.js";
import { useFormat, useTexts } from "../i18n/use.js";
import { useCommands } from "../shell/context.js";
import { asks as texts } from "../texts/asks.js";
import { Button } from "../ui/button.js";
import { Kbd } from "../ui/kbd.js";
import { usePress } from "./arming.js";
import { escapeInvisible } from "./invisible.js";
import { LaterButton } from "./later-button.js";
import type { PlanFormProps } from "./plan.js";

/** The form that approves, skips or rejects a todo. */
export function TodoForm({ request, ready, keys, onLater }: PlanFormProps<Extract<HITLRequest, { type: "hitl_approval_request" }>>): ReactNode {
  const t = useTexts(texts);
  const format = useFormat();
  const commands = useCommands();
  const press = usePress(ready);
  const { todo, options } = request;

  const answer = (action: TodoAnswer): void => {
    const { request_id, todo_id } = request;
    if (commands.send("hitl_approval_response", { request_id, todo_id, action }) === undefined) commands.notify(t.full, "warning");
  };
  useEffect(() => {
    keys.current = { approve: () => answer("approve") };
  });
  const estimate = [todo.estimated_duration_sec ? format.elapsed(todo.estimated_duration_sec * 1000) : "", todo.estimated_cost_usd ? format.usd(todo.estimated_cost_usd) : ""];
  return (
    <>
      <dl className="asks-facts">
        {request.reason !== "" && (
          <>
            <dt>{t.why}</dt>
            <dd>{escapeInvisible(request.reason)}</dd>
          </>
        )}
        {!!todo.tool && (
          <>
            <dt>{t.tool}</dt>
            <dd>
              <code>{escapeInvisible(todo.tool)}</code>
            </dd>
          </>
        )}
        {estimate.some(Boolean) && (
          <>
            <dt>{t.cost}</dt>
            <dd>{estimate.filter(Boolean).join(" · ")}</dd>
          </>
        )}
      </dl>
      <div className="asks-buttons">
        <LaterButton onLater={onLater} />
        {options.includes("reject") && (
          <Button kind="ghost" icon={CircleX} {...press(() => answer("reject"))}>
            {t.rejectTodo}
          </Button>
        )}
        {options.includes("skip") && (
          <Button icon={SkipForward} {...press(() => answer("skip"))}>
            {t.skipTodo}
          </Button>
        )}
        {/* A todo may be expensive or dangerous, so its approve button is not the primary one. */}
        <Button icon={Check} {...press(() => answer("approve"))} aria-keyshortcuts="A">
          {t.approveTodo}
          <Kbd combo="a" />
        </Button>
      </div>
    </>
  );
}
