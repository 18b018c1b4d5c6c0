// Files that are far larger than they look: the page shows a part of them, or says why not.

import { mkdir, mkdtemp, open, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { deflateRawSync } from "node:zlib";
import { afterAll, expect, it } from "vitest";
import { desktopFixture, devtools } from "./harness/fixture.js";

const folder = await mkdtemp(join(tmpdir(), "everdesk-e2e-files-"));
const desktop = desktopFixture({ flags: ["--files-dir", folder] });

afterAll(() => rm(folder, { recursive: true, force: true }));

const mebibyte = 2 ** 20;

/** A zip of one file of zeros, a thousandth of its size. */
function zipBomb(size: number): Buffer {
  const data = deflateRawSync(Buffer.alloc(size), { level: 9 });
  const name = Buffer.from("zeros.txt");
  const fields = Buffer.alloc(26);
  fields.writeUInt16LE(20, 0); // the version that can read it
  fields.writeUInt16LE(8, 4); // deflated
  fields.writeUInt32LE(data.length, 14);
  fields.writeUInt32LE(size, 18);
  fields.writeUInt16LE(name.length, 22);
  const local = Buffer.concat([Buffer.from("PK\x03\x04", "latin1"), fields, name, data]);
  const central = Buffer.concat([Buffer.from("PK\x01\x02\x14\x00", "latin1"), fields, Buffer.alloc(14), name]);
  const end = Buffer.alloc(22);
  end.write("PK\x05\x06", "latin1");
  end.writeUInt16LE(1, 8);
  end.writeUInt16LE(1, 10);
  end.writeUInt32LE(central.length, 12);
  end.writeUInt32LE(local.length, 16);
  return Buffer.concat([local, central, end]);
}

it("a zip bomb and files of 2 GiB can be listed and opened, and the page does not read them", { timeout: 120_000 }, async () => {
  desktop.guard.expect(/4\d\d \(/);
  const session = await desktop.hub.rest.newSession("hostile");
  const here = join(folder, session);
  await mkdir(here, { recursive: true });
  const sparse = ["sparse.txt", "sparse.md", "sparse.csv", "sparse.pdf", "sparse.ipynb", "sparse.png"];
  for (const name of sparse) {
    const f = await open(join(here, name), "w");
    await f.truncate(2 ** 31);
    await f.close();
  }
  const bomb = zipBomb(256 * mebibyte);
  expect(bomb.length).toBeLessThan(mebibyte);
  const f = await open(join(here, "bomb.zip"), "w");
  await f.writeFile(bomb);
  await f.close();

  const page = await desktop.tab({ session });
  const client = await devtools(page);
  await client.send("Network.enable");
  let received = 0;
  client.on("Network.dataReceived", (e) => (received += e.dataLength));
  for (const name of [...sparse, "bomb.zip"]) {
    if ((await page.locator("[data-files-folder]").count()) === 0) await page.locator("[data-files-icon]").click();
    await page.locator(`[data-entry="${name}"] .files-name`).evaluate((e) => (e as HTMLElement).click());
    const shown = page.locator(`.win [data-file="${name}"]`);
    await shown.locator("[data-content-state=ready], [data-content-state=failed], .cm-content, table, .md").first().waitFor();
  }
  await client.send("HeapProfiler.collectGarbage");
  const { usedSize } = await client.send("Runtime.getHeapUsage");
  expect(usedSize / mebibyte, "heap of the page, in MiB").toBeLessThan(200);
  expect(received / mebibyte, "bytes that the page has received, in MiB").toBeLessThan(200);
  // The desktop still works.
  await desktop.hub.rest.runActions(session, [{ type: "window.create", windowId: "after", title: "After", bounds: { x: 0, y: 0, w: 300, h: 200 }, content: { renderer: "text", data: "still here" } }]);
  await page.locator('[data-window-id="after"]').getByText("still here").waitFor();
});
