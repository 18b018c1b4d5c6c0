// Helpers for tests of the files of a session.

import type { Page } from "playwright-core";
import type { SessionID } from "../../core/src/index.js";
import type { Hub } from "./hub.js";

/** Drops files on an element of the page. */
export async function dropFiles(page: Page, selector: string, files: readonly { name: string; text: string }[]): Promise<void> {
  await page.locator(selector).first().evaluate((at, all) => {
    const data = new DataTransfer();
    for (const { name, text } of all) data.items.add(new File([text], name));
    const init = { bubbles: true, cancelable: true, dataTransfer: data };
    at.dispatchEvent(new DragEvent("dragover", init));
    at.dispatchEvent(new DragEvent("drop", init));
  }, files);
}

/** The text of a file, or the status of the hub's refusal. */
export async function storedFile(hub: Hub, session: SessionID, path: string): Promise<string> {
  const r = await fetch(`${hub.url}/api/sessions/${session}/files/${path}`, {
    headers: { authorization: `Bearer ${new URL(hub.entry).searchParams.get("token")}` },
  });
  return r.ok ? r.text() : `HTTP ${r.status}`;
}
