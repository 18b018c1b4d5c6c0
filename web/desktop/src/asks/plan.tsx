import { ListTodo } from "lucide-react";
import type { ReactNode, RefObject } from "react";
import type { HITLRequest } from "../../../core/src/index.js";
import { useTexts } from "../i18n/use.js";
import { useCommands, useShell } from "../shell/context.js";
import { asks as texts } from "../texts/asks.js";
import type { RejectedAnswer } from "./answers.js";
import { escapeInvisible } from "./invisible.js";
import { TodoForm } from "./plan-approval.js";
import { InputForm } from "./plan-input.js";
import { ReviewForm } from "./plan-review.js";
import { timeoutOutcome } from "./value.js";
import type { AnswerKeys } from "./view.js";

export interface PlanFormProps<R extends HITLRequest = HITLRequest> {
  request: R;
  ready: boolean;
  keys: RefObject<AnswerKeys>;
  onLater: (() => void) | undefined;
  /** Why the hub rejected the last answer. */
  refused: RejectedAnswer | undefined;
}

/** The form that answers a question of the plan. */
export function PlanForm(props: PlanFormProps): ReactNode {
  return (
    <>
      <Form {...props} />
      <TimeoutHint request={props.request} />
    </>
  );
}

function Form({ request, ...rest }: PlanFormProps): ReactNode {
  switch (request.type) {
    case "hitl_plan_review":
      return <ReviewForm request={request} {...rest} />;
    case "hitl_approval_request":
      return <TodoForm request={request} {...rest} />;
    default:
      return <InputForm request={request} {...rest} />;
  }
}

/** Says what happens if the question times out. */
function TimeoutHint({ request }: { request: HITLRequest }): ReactNode {
  const t = useTexts(texts);
  if (!request.expires_at) return null;
  const silence = timeoutOutcome(request);
  const says = { plan: t.noAnswerPlan, todo: t.noAnswerTodo, on: t.noAnswerOn };
  return <p className="asks-state">{silence.what === "default" ? t.noAnswerDefault(escapeInvisible(silence.value)) : says[silence.what]}</p>;
}

/** Names the plan and todo that a question belongs to, with a button that shows the plan. */
export function PlanOrigin({ request }: { request: HITLRequest }): ReactNode {
  const t = useTexts(texts);
  const commands = useCommands();
  const todoId = "todo_id" in request ? request.todo_id : undefined;
  const todo = useShell((s) => (todoId === undefined ? undefined : s.desktop.todos.get(todoId)?.task));
  const open = useShell((s) => s.planOpen);
  return (
    <p className="asks-from">
      <span className="asks-from-part">
        <ListTodo size={14} aria-hidden />
        {t.ofPlan}
      </span>
      {todo !== undefined && request.type === "hitl_input_request" && <span className="asks-from-part">{t.forTodo(escapeInvisible(todo))}</span>}
      {!open && (
        <button type="button" className="asks-from-part asks-from-go" onClick={() => commands.showPlan(true)}>
          {t.showPlan}
        </button>
      )}
    </p>
  );
}
