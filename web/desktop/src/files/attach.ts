// The uploads of a page, and files for a message.

import type { Page } from "../shell/boot.js";
import { forBrowser } from "../shell/storage.js";
import { files as texts } from "../texts/files.js";
import { listOf } from "./known.js";
import { Uploads } from "./uploads.js";

const all = new WeakMap<Page, Uploads>();

/** The uploads of a page. */
export function uploadsOf(page: Page): Uploads {
  const { session } = page.store.getState();
  const uploads = all.get(page) ?? new Uploads({ api: listOf(page).api, memory: forBrowser, session });
  all.set(page, uploads);
  return uploads;
}

/** Uploads files for a message and gives `putBack` the text that names them, for the agent to read them. */
export async function attachFiles(page: Page, files: readonly File[], putBack: (text: string) => void): Promise<void> {
  const stored = await uploadsOf(page).add(files, "");
  const t = texts[page.store.getState().language];
  if (stored.length > 0) putBack(stored.map((f) => t.attached(f.path)).join(" "));
}
