import { ListTodo } from "lucide-react";
import type { ReactNode, RefObject } from "react";
import type { HITLRequest } from "../../../core/src/index.js";
import { useTexts } from "../i18n/use.js";
import { useCommands, useShell } from "../shell/context.js";
import { asks as texts } from "../texts/parts.js";
import type { Refused } from "./answers.js";
import { visible } from "./origin.js";
import { TodoForm } from "./plan-approval.js";
import { InputForm } from "./plan-input.js";
import { ReviewForm } from "./plan-review.js";
import { silenceOf } from "./value.js";
import type { AnswerKeys } from "./view.js";

export interface PlanFormProps<R extends HITLRequest = HITLRequest> {
  request: R;
  ready: boolean;
  keys: RefObject<AnswerKeys>;
  onLater: (() => void) | undefined;
  /** Why the hub did not take the last answer. */
  refused: Refused | undefined;
}

/** The answers to a question of the plan. */
export function PlanForm(props: PlanFormProps): ReactNode {
  return (
    <>
      <Form {...props} />
      <Silence request={props.request} />
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

/** What happens when nobody answers. */
function Silence({ request }: { request: HITLRequest }): ReactNode {
  const t = useTexts(texts);
  if (!request.expires_at) return null;
  const silence = silenceOf(request);
  const says = { plan: t.noAnswerPlan, todo: t.noAnswerTodo, on: t.noAnswerOn };
  return <p className="asks-state">{silence.what === "default" ? t.noAnswerDefault(visible(silence.value)) : says[silence.what]}</p>;
}

/** Where a question of the plan comes from, and the way there. */
export function FromPlan({ request }: { request: HITLRequest }): ReactNode {
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
      {todo !== undefined && request.type === "hitl_input_request" && <span className="asks-from-part">{t.forTodo(visible(todo))}</span>}
      {!open && (
        <button type="button" className="asks-from-part asks-from-go" onClick={() => commands.showPlan(true)}>
          {t.showPlan}
        </button>
      )}
    </p>
  );
}
