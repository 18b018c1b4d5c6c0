// The questions of the agent, as CopilotKit's chat shows them: approvals, choices, and answers in words. The schema of
// a question says which it is.

import { useInterrupt } from "@copilotkit/react-core/v2";
import { type FormEvent, useState } from "react";

/** An answer's schema: the fields that Everdesk uses. */
interface Schema {
  properties?: {
    approved?: object;
    action?: { enum: string[] };
    instruction?: object;
    selectedValues?: { items: { oneOf: { const: string; title: string }[] }; maxItems?: number };
    text?: object;
    value?: object;
  };
}

interface Question {
  id: string;
  message?: string;
  responseSchema?: Schema;
}

/** Shows the questions in the chat until they are answered, here or in any other client of the session. */
export function Questions() {
  useInterrupt({
    agentId: "desktop",
    render: ({ interrupts, resolve, cancel }) => (
      <>
        {(interrupts as Question[]).map((q) => (
          <Card key={q.id} question={q} answer={(payload) => void resolve(payload, q.id)} dismiss={() => void cancel(q.id)} />
        ))}
      </>
    ),
  });
  return null;
}

function Card({ question, answer, dismiss }: { question: Question; answer: (payload: unknown) => void; dismiss: () => void }) {
  const { approved, action, instruction, selectedValues, text, value } = question.responseSchema?.properties ?? {};
  const [words, setWords] = useState("");
  const [chosen, setChosen] = useState<string[]>([]);
  const [sent, setSent] = useState(false);
  const options = selectedValues?.items.oneOf ?? [];
  const several = selectedValues !== undefined && selectedValues.maxItems !== 1;
  const send = (payload: unknown) => {
    setSent(true);
    answer(payload);
  };
  const submit = (e: FormEvent) => {
    e.preventDefault();
    send(value ? { value: words } : { text: words, selectedValues: chosen });
  };
  const toggle = (v: string) => setChosen((all) => (all.includes(v) ? all.filter((x) => x !== v) : [...all, v]));
  const button = (label: string, click: () => void) => (
    <button key={label} type="button" onClick={click} style={{ border: "1px solid", borderRadius: 6, padding: "4px 12px" }}>
      {label}
    </button>
  );
  return (
    <form onSubmit={submit} data-question={question.id} style={{ border: "1px solid #8888", borderRadius: 8, margin: "8px 0", padding: 12 }}>
      <p style={{ whiteSpace: "pre-wrap" }}>{question.message}</p>
      <fieldset disabled={sent} style={{ display: "flex", flexWrap: "wrap", gap: 8, marginTop: 8 }}>
        {approved && [button("Approve", () => send({ approved: true })), button("Deny", () => send({ approved: false }))]}
        {instruction && <input aria-label="Change" value={words} onChange={(e) => setWords(e.target.value)} style={{ border: "1px solid #8888" }} />}
        {action?.enum.map((a) => button(a, () => send({ action: a, instruction: words })))}
        {!several && options.map((o) => button(o.title, () => send({ selectedValues: [o.const] })))}
        {several &&
          options.map((o) => (
            <label key={o.const}>
              <input type="checkbox" checked={chosen.includes(o.const)} onChange={() => toggle(o.const)} /> {o.title}
            </label>
          ))}
        {(text || value) && <input aria-label="Answer" value={words} onChange={(e) => setWords(e.target.value)} style={{ border: "1px solid #8888", flex: 1 }} />}
        {(text || value || several) && <button type="submit">Send</button>}
        {!approved && !action && button("Dismiss", dismiss)}
      </fieldset>
    </form>
  );
}
