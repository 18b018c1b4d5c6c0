// Pictures that a person pastes or drops reach the model, whatever their size.

import type { Page } from "playwright-core";
import { afterAll, expect, it } from "vitest";
import { commandBar, sendMessage, until, waitForRow } from "./harness/desktop-page.js";
import { desktopFixture } from "./harness/fixture.js";
import { Model } from "./harness/model.js";

const model = await Model.start();
afterAll(() => model.stop());
const desktop = desktopFixture({ flags: model.flags });

/** Gives the message box a PNG of random points, which compresses badly, as a photo does. */
async function give(page: Page, event: "paste" | "drop", width: number, height: number): Promise<void> {
  await commandBar(page).evaluate(
    async (box, [kind, w, h]) => {
      const canvas = new OffscreenCanvas(w, h);
      const pen = canvas.getContext("2d")!;
      const points = pen.createImageData(w, h);
      for (let n = 0; n < points.data.length; n += 65_536) crypto.getRandomValues(points.data.subarray(n, n + 65_536));
      for (let n = 3; n < points.data.length; n += 4) points.data[n] = 255;
      pen.putImageData(points, 0, 0);
      const data = new DataTransfer();
      data.items.add(new File([await canvas.convertToBlob({ type: "image/png" })], `${kind}.png`, { type: "image/png" }));
      const init = { bubbles: true, cancelable: true };
      box.dispatchEvent(kind === "paste" ? new ClipboardEvent("paste", { ...init, clipboardData: data }) : new DragEvent("drop", { ...init, dataTransfer: data }));
    },
    [event, width, height] as const,
  );
}

/** The pictures of the newest request, as their types and bytes. */
function sentPictures(): { type: string; bytes: number }[] {
  return model.requests.at(-1)!.at(-1)!.blocks.flatMap((block) => {
    const found = /"media_type":"([^"]+)","data":"([^"]+)"/.exec(block);
    return found === null ? [] : [{ type: found[1]!, bytes: Buffer.from(found[2]!, "base64").length }];
  });
}

it("a pasted and a dropped picture of several megabytes reach the model, and another tab shows them", async () => {
  const session = await desktop.hub.rest.newSession("pictures");
  const page = await desktop.tab({ session });
  const other = await desktop.tab({ session });
  await give(page, "paste", 1600, 1200);
  await until(() => page.locator(".dock-thumb .dock-thumb-size").count()).toBe(1);
  await give(page, "drop", 900, 1400);
  await until(() => page.locator(".dock-thumb .dock-thumb-size").count()).toBe(2);

  await sendMessage(page, "/say Two pictures.");
  await waitForRow(page, "Two pictures.");
  const sent = sentPictures();
  expect(sent.map((p) => p.type)).toEqual(["image/webp", "image/webp"]);
  for (const { bytes } of sent) expect(bytes).toBeGreaterThan(10_000);
  await waitForRow(other, "Two pictures.");
  await until(() => other.locator(".drawer-picture img").evaluateAll((all) => all.map((i) => (i as HTMLImageElement).naturalWidth > 100))).toEqual([true, true]);
  expect(await page.locator(".dock-thumb").count(), "pictures that are still attached").toBe(0);
});
