import { CircleCheck } from "lucide-react";
import type { ReactNode } from "react";
import { useTexts } from "../i18n/use.js";
import { useCommands, useShell } from "../shell/context.js";
import { sessions as texts } from "../texts/parts.js";
import { providerName } from "../topbar/monitors.js";
import { Modal } from "../ui/modal.js";
import { Command } from "./command.js";

/** The commands that set up each provider. */
const setupCommands = {
  anthropic: "export ANTHROPIC_API_KEY=sk-ant-…\nhub serve --provider anthropic",
  openai: "export OPENAI_API_KEY=…\nexport OPENAI_BASE_URL=http://127.0.0.1:8000/v1\nhub serve --provider openai --openai-model NAME",
  ollama: "ollama pull NAME\nhub serve --provider ollama --ollama-model NAME",
} as const;

/** Explains how to connect a model provider. */
export function ConnectPanel(): ReactNode {
  const t = useTexts(texts);
  const commands = useCommands();
  const providers = useShell((s) => s.hub.providers);
  const defaultProvider = useShell((s) => s.hub.provider);
  const real = providers.some((p) => p !== "demo");
  const offers = [
    { id: "anthropic", name: "Anthropic", hint: t.anthropicHint },
    { id: "openai", name: t.openaiName, hint: t.openaiHint },
    { id: "ollama", name: "Ollama", hint: t.ollamaHint },
  ] as const;
  return (
    <Modal title={t.connect} closeLabel={t.close} onClose={() => commands.openPanel("")} shape="wide">
      <div className="sessions-has">
        <span>{t.has}</span>
        {providers.map((p) => (
          <span key={p} className="sessions-pill">
            {providerName(p)}
            {p === defaultProvider && <small>{t.defaultMark}</small>}
          </span>
        ))}
      </div>
      <p className="sessions-lead">{real ? t.connectIntro : t.onlyDemo}</p>
      {offers.map((o) => (
        <section key={o.id} className="sessions-way" aria-label={o.name}>
          <h3>
            {o.name}
            {providers.includes(o.id) && (
              <span className="sessions-good">
                <CircleCheck size={14} aria-hidden />
                {t.connected}
              </span>
            )}
          </h3>
          <p>{o.hint}</p>
          <Command lines={setupCommands[o.id]} />
        </section>
      ))}
      <p className="sessions-lead">{t.afterwards}</p>
    </Modal>
  );
}
