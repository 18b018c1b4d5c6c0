// Makes a picture of a piece of HTML by drawing it as an SVG. It shows what styles say, not what other frames show.

import { maxPicture } from "./protocol.js";

/** The sizes and qualities to try, until the picture is small enough. */
const tries = [
  { width: 1024, quality: 0.8 },
  { width: 800, quality: 0.6 },
  { width: 560, quality: 0.5 },
  { width: 360, quality: 0.4 },
];

/** A picture in base64 of what an element of the width and height looks like. */
export async function picture(root: Element, width: number, height: number, about: Record<string, string> = {}): Promise<string> {
  if (width < 1 || height < 1) throw new Error("the window is hidden");
  const attributes = Object.entries(about).map(([name, value]) => ` ${name}="${value.replaceAll(/[&"<]/g, "")}"`);
  const body = new XMLSerializer().serializeToString(root);
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}"${attributes.join("")}>
    <foreignObject width="100%" height="100%">${body}</foreignObject></svg>`;
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  await image.decode();
  for (const t of tries) {
    const scale = Math.min(1, t.width / width);
    const canvas = document.createElement("canvas");
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
    canvas.getContext("2d")!.drawImage(image, 0, 0, canvas.width, canvas.height);
    const data = canvas.toDataURL("image/webp", t.quality).split(",")[1] ?? "";
    if (data !== "" && data.length <= maxPicture) return data;
  }
  throw new Error("the picture is too large");
}

/**
 * A copy of an element for a picture: what is drawn is an image in it, and nothing in it runs. What was typed is in it
 * only if that is told, as of an app, which knows it anyway; passwords never are.
 */
export function still(root: Element, withTyped: boolean): Element {
  const copy = root.cloneNode(true) as Element;
  const drawn = root.querySelectorAll("canvas");
  copy.querySelectorAll("canvas").forEach((canvas, i) => {
    const image = document.createElement("img");
    image.width = canvas.width;
    image.height = canvas.height;
    try {
      image.src = drawn[i]!.toDataURL();
    } catch {
      // It holds a picture from elsewhere, which nobody may read.
    }
    canvas.replaceWith(image);
  });
  const typed = root.querySelectorAll("input, textarea");
  copy.querySelectorAll("input, textarea").forEach((field, i) => {
    const { type } = typed[i] as HTMLInputElement;
    const value = withTyped && type !== "password" ? (typed[i] as HTMLInputElement).value : "";
    if (field instanceof HTMLTextAreaElement) field.textContent = value;
    else field.setAttribute("value", value);
  });
  for (const e of copy.querySelectorAll("script, iframe, object, embed, link")) e.remove();
  return copy;
}
