import { CircleAlert, CircleCheck } from "lucide-react";
import { type ReactNode, useRef, useState } from "react";
import { useFormat, useTexts } from "../i18n/use.js";
import type { ModelFailure, ModelTest, NewModelProfile } from "../shell/api.js";
import { useCommands } from "../shell/context.js";
import { models as texts } from "../texts/models.js";

export type TestState = { type: "none" } | { type: "running" } | { type: "passed"; result: ModelTest } | { type: "failed"; failure: ModelFailure };

type RunTest = (what: { profile: NewModelProfile; key?: string }) => Promise<void>;

/** A test of a model: its state, and the functions to run and to discard it. The result of a discarded test is dropped. */
export function useTest(): [TestState, RunTest, () => void] {
  const commands = useCommands();
  const [state, setState] = useState<TestState>({ type: "none" });
  const number = useRef(0);
  const run: RunTest = async (what) => {
    const mine = ++number.current;
    setState({ type: "running" });
    const next = await commands.api.testModel(what).then(
      (result): TestState => (result.failure === undefined ? { type: "passed", result } : { type: "failed", failure: result.failure }),
      (error: unknown): TestState => ({ type: "failed", failure: { class: "hub", detail: error instanceof Error ? error.message : String(error) } }),
    );
    if (mine === number.current) setState(next);
  };
  const reset = (): void => {
    number.current++;
    setState({ type: "none" });
  };
  return [state, run, reset];
}

/** The result of a test: what the model said, how long it took and what it cost. */
export function TestResult({ state }: { state: TestState }): ReactNode {
  const t = useTexts(texts);
  const format = useFormat();
  switch (state.type) {
    case "none":
      return null;
    case "running":
      return (
        <p role="status" className="models-note">
          {t.testingHint}
        </p>
      );
    case "failed":
      return <Failure failure={state.failure} />;
    case "passed": {
      const { answer = "", ms, inputTokens = 0, outputTokens = 0, costUsd = 0, costUnknown = false } = state.result;
      const cost = costUnknown || costUsd > 0 ? format.cost(costUsd, costUnknown) : t.free;
      const facts = [t.took(format.number(ms)), t.tokens(format.number(inputTokens), format.number(outputTokens)), cost];
      return (
        <div role="status" className="models-passed" data-models="passed">
          <CircleCheck size={16} aria-hidden />
          <div>
            <q>{answer}</q>
            <p className="models-note">{facts.join(" · ")}</p>
          </div>
        </div>
      );
    }
  }
}

/** Why a model or its server cannot be used, in plain words, with what the server said. */
export function Failure({ failure }: { failure: ModelFailure }): ReactNode {
  const t = useTexts(texts);
  const known: Record<string, string> = {
    address: t.whyAddress,
    auth: t.whyAuth,
    rate: t.whyRate,
    overloaded: t.whyRate,
    transport: t.whyTransport,
    secret: t.whySecret,
  };
  return (
    <div role="alert" className="models-problem" data-models="failure" data-class={failure.class}>
      <CircleAlert size={16} aria-hidden />
      <div>
        <strong>{known[failure.class] ?? t.whyOther}</strong>
        <p className="models-note">{failure.detail}</p>
      </div>
    </div>
  );
}
