// The bytes of a file as text. Pure.

import { kindOf } from "./paths.js";

/** The text in the bytes of a file; undefined if they are no text. The end of a part may be within a character. */
export function textOf(data: ArrayBuffer, part: boolean): string | undefined {
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(data, { stream: part });
    return text.includes("\0") ? undefined : text;
  } catch {
    return undefined;
  }
}

const pictures: Record<string, string> = { png: "image/png", jpg: "image/jpeg", jpeg: "image/jpeg", gif: "image/gif", webp: "image/webp", avif: "image/avif" };

/** A file as apps get it: a text as it is, anything else as a data: URL. */
export function contentOf(path: string, data: ArrayBuffer): string {
  const text = kindOf(path) === "picture" ? undefined : textOf(data, false);
  if (text !== undefined) return text;
  const type = pictures[path.slice(path.lastIndexOf(".") + 1).toLowerCase()] ?? "application/octet-stream";
  const bytes = new Uint8Array(data);
  let binary = "";
  // The arguments of a call are limited.
  for (let at = 0; at < bytes.length; at += 32_768) binary += String.fromCharCode(...bytes.subarray(at, at + 32_768));
  return `data:${type};base64,${btoa(binary)}`;
}
