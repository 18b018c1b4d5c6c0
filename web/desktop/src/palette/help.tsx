import { Fragment, type ReactNode } from "react";
import { canvasShortcuts, titleBarShortcuts } from "../canvas/shortcuts.js";
import { dockShortcuts } from "../dock/shortcuts.js";
import { useTexts } from "../i18n/use.js";
import { useCommands, useShell } from "../shell/context.js";
import { palette as texts } from "../texts/palette.js";
import { windows as canvasTexts } from "../texts/windows.js";
import { Kbd } from "../ui/kbd.js";
import type { Combo } from "../ui/keys.js";
import { Modal } from "../ui/modal.js";
import { actions } from "./actions.js";
import { type HelpLine, linesOf } from "./lines.js";

/** All shortcuts, grouped by where they work. */
export default function Help(): ReactNode {
  const t = useTexts(texts);
  const canvas = useTexts(canvasTexts);
  const language = useShell((s) => s.language);
  const commands = useCommands();
  const everywhere = actions.flatMap((a) => (a.combo === undefined ? [] : [{ combo: a.combo, text: (a.help ?? a.title)(t) }]));
  return (
    <Modal title={t.help} closeLabel={t.close} shape="wide" onClose={() => commands.openPanel("")}>
      {/* It can be focused, so that it can be scrolled with the keyboard. */}
      <div className="palette-help" tabIndex={0} role="group" aria-label={t.help}>
        <Part title={t.everywhere} keys={everywhere} />
        <Part title={t.windows} keys={canvasShortcuts.map((k) => ({ combo: k.combo, text: canvas[k.label] }))} />
        <Part title={t.commandBar} keys={dockShortcuts.map((k) => ({ combo: k.combo, text: k.text[language] }))} />
        <Part title={t.titleBar} keys={titleBarShortcuts.map((k) => ({ combo: k.combo, text: canvas[k.label] }))} />
        <Part
          title={t.questions}
          keys={[
            { combo: "a", text: t.keyApprove },
            { combo: "r", text: t.keyReject },
            { combo: "s", text: t.keyLater },
          ]}
        />
      </div>
    </Modal>
  );
}

function Part({ title, keys }: { title: string; keys: readonly { combo: Combo; text: string }[] }): ReactNode {
  const lines: HelpLine[] = linesOf(keys);
  return (
    <section className="palette-help-part">
      <h3>{title}</h3>
      <dl>
        {lines.map((line) => (
          <div key={line.text}>
            <dt>{line.text}</dt>
            <dd>
              {line.combos.map((combo, i) => (
                <Fragment key={combo}>
                  {i > 0 && " "}
                  <Kbd combo={combo} />
                </Fragment>
              ))}
            </dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
