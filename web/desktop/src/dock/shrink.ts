// Reads pictures from files and re-encodes them as small as a message needs.

import { bestStep, divide, scaled } from "./encodings.js";
import { roomFor } from "./pictures.js";

/** An attached picture. */
export interface Picture {
  readonly id: number;
  readonly name: string;
  readonly image: HTMLImageElement;
  /** The file as a data: URL. */
  readonly whole: string;
}

/** A picture as it is sent. */
export interface Fitted {
  readonly id: number;
  readonly url: string;
  /** The reduced size; absent if the file is sent unchanged. */
  readonly shrunk?: { readonly width: number; readonly height: number };
}

/** The formats that agents can read. Others are re-encoded. */
const plain = /^data:image\/(png|jpeg|webp|gif);/;

export async function readPicture(file: File, id: number): Promise<Picture> {
  const whole = await new Promise<string>((done, failed) => {
    const reader = new FileReader();
    reader.onload = () => done(reader.result as string);
    reader.onerror = () => failed(reader.error ?? new Error(file.name));
    reader.readAsDataURL(file);
  });
  const image = new Image();
  image.src = whole;
  await image.decode();
  return { id, name: file.name, image, whole };
}

/** Fits pictures into one message beside a text; undefined if they do not fit at any size. */
export async function fitPictures(pictures: readonly Picture[], content: string): Promise<Fitted[] | undefined> {
  const wanted = pictures.map((p) => (plain.test(p.whole) ? p.whole.length : Infinity));
  const shares = divide(roomFor(content, pictures.length), wanted);
  const fitted: Fitted[] = [];
  for (const [i, p] of pictures.entries()) {
    if (wanted[i]! <= shares[i]!) {
      fitted.push({ id: p.id, url: p.whole });
      continue;
    }
    const best = await bestStep(shares[i]!, (step) => write(p.image, step.side, step.quality));
    if (best === undefined) return undefined;
    fitted.push({ id: p.id, url: best.url, shrunk: scaled(p.image.naturalWidth, p.image.naturalHeight, best.step.side) });
  }
  return fitted;
}

async function write(image: HTMLImageElement, side: number, quality: number): Promise<string> {
  const { width, height } = scaled(image.naturalWidth, image.naturalHeight, side);
  const canvas = document.createElement("canvas");
  canvas.width = width;
  canvas.height = height;
  const pen = canvas.getContext("2d")!;
  pen.imageSmoothingQuality = "high";
  pen.drawImage(image, 0, 0, width, height);
  const webp = canvas.toDataURL("image/webp", quality);
  if (webp.startsWith("data:image/webp")) return webp;
  // This browser cannot encode WebP. JPEG has no transparency, which would become black.
  pen.globalCompositeOperation = "destination-over";
  pen.fillStyle = "white";
  pen.fillRect(0, 0, width, height);
  return canvas.toDataURL("image/jpeg", quality);
}
