// Renders HTML to a picture, through an SVG. The picture shows styles and static content, but not the content of
// frames.

import { maxPicture } from "./protocol.js";

/** The widths and qualities to try, until the picture is small enough. */
const attempts = [
  { width: 1024, quality: 0.8 },
  { width: 800, quality: 0.6 },
  { width: 560, quality: 0.5 },
  { width: 360, quality: 0.4 },
];

/** Renders an element of the given size; returns a WebP picture in base64. */
export async function renderPicture(root: Element, width: number, height: number, rootAttributes: Record<string, string> = {}): Promise<string> {
  if (width < 1 || height < 1) throw new Error("the window is hidden");
  const attributes = Object.entries(rootAttributes).map(([name, value]) => ` ${name}="${value.replaceAll(/[&"<]/g, "")}"`);
  const body = new XMLSerializer().serializeToString(root);
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}"${attributes.join("")}>
    <foreignObject width="100%" height="100%">${body}</foreignObject></svg>`;
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  await image.decode();
  for (const t of attempts) {
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
 * A copy of an element for a picture: canvases become images, and nothing in it runs. It contains entered values only
 * with `withTyped`, for an app, which knows them anyway; never passwords.
 */
export function staticCopy(root: Element, withValues: boolean): Element {
  const copy = root.cloneNode(true) as Element;
  const canvases = root.querySelectorAll("canvas");
  copy.querySelectorAll("canvas").forEach((canvas, i) => {
    const image = document.createElement("img");
    image.width = canvas.width;
    image.height = canvas.height;
    try {
      image.src = canvases[i]!.toDataURL();
    } catch {
      // The canvas holds a picture of another origin and cannot be read.
    }
    canvas.replaceWith(image);
  });
  const fields = root.querySelectorAll("input, textarea");
  copy.querySelectorAll("input, textarea").forEach((field, i) => {
    const { type } = fields[i] as HTMLInputElement;
    const value = withValues && type !== "password" ? (fields[i] as HTMLInputElement).value : "";
    if (field instanceof HTMLTextAreaElement) field.textContent = value;
    else field.setAttribute("value", value);
  });
  for (const e of copy.querySelectorAll("script, iframe, object, embed, link")) e.remove();
  return copy;
}
