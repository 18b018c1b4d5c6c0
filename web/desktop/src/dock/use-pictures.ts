// The attached pictures by monitor. They exist in this tab only.

import { useContext, useRef, useState } from "react";
import type { MonitorID } from "../../../core/src/index.js";
import { useTexts } from "../i18n/use.js";
import { PageContext, useCommands } from "../shell/context.js";
import { dock as texts } from "../texts/entry.js";
import { usePutBack } from "./drafts.js";
import type { Fitted, Picture } from "./shrink.js";

/** The code that shrinks pictures is loaded with the first picture. */
const fetchShrink = () => import("./shrink.js");

export interface Attached {
  readonly pictures: readonly Picture[];
  /** The fitted pictures; absent until computed. */
  readonly fitted?: readonly Fitted[];
  /** Whether they do not fit. */
  readonly tooMany?: boolean;
}

const none: Attached = { pictures: [] };

/** The most pictures per message; more would be too small to be useful. */
const most = 6;

export interface Pictures extends Attached {
  readonly reading: boolean;
  add(files: Iterable<File>): void;
  remove(id: number): void;
  clear(): void;
  /** Fits the pictures again beside a longer text. */
  refit(content: string): Promise<readonly Fitted[] | undefined>;
}

export function usePictures(monitor: MonitorID, content: string): Pictures {
  const t = useTexts(texts);
  const commands = useCommands();
  const page = useContext(PageContext);
  const putBack = usePutBack(monitor);
  const [all, setAll] = useState<Record<MonitorID, Attached>>({});
  const [reading, setReading] = useState(0);
  const last = useRef(0);
  const current = useRef(all);
  current.current = all;
  const mine = all[monitor] ?? none;

  const put = (attached: Attached): void => {
    current.current = { ...current.current, [monitor]: attached };
    setAll(current.current);
  };
  const fit = async (pictures: readonly Picture[], text: string): Promise<readonly Fitted[] | undefined> => {
    put({ pictures });
    const { fitPictures } = await fetchShrink();
    const fitted = await fitPictures(pictures, text);
    // If pictures were added or removed in the meantime, the result is outdated.
    if (current.current[monitor]?.pictures === pictures) put(fitted === undefined ? { pictures, tooMany: true } : { pictures, fitted });
    return fitted;
  };
  const read = async (file: File): Promise<void> => {
    setReading((n) => n + 1);
    try {
      const { readPicture } = await fetchShrink();
      const picture = await readPicture(file, ++last.current);
      const before = (current.current[monitor] ?? none).pictures;
      if (before.length >= most) return commands.notify(t.tooManyPictures(most), "warning");
      await fit([...before, picture], content);
    } catch {
      commands.notify(t.badPicture(file.name), "error");
    } finally {
      setReading((n) => n - 1);
    }
  };
  return {
    ...mine,
    reading: reading > 0,
    add: (files) => {
      const others = [...files].filter((f) => !f.type.startsWith("image/"));
      if (others.length > 0) void import("../files/attach.js").then((m) => m.attachFiles(page!, others, putBack));
      void [...files].filter((f) => f.type.startsWith("image/")).reduce((before, file) => before.then(() => read(file)), Promise.resolve());
    },
    remove: (id) => void fit((current.current[monitor] ?? none).pictures.filter((p) => p.id !== id), content),
    clear: () => put(none),
    refit: (text) => fit((current.current[monitor] ?? none).pictures, text),
  };
}
