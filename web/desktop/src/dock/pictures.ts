// Fits pictures into a message. The hub accepts frames of up to 64 KiB, not counting pictures, and makes pictures of
// more than 128 KiB together smaller. The page does that itself: it encodes better, and less is uploaded.

/** The largest frame of a message without its pictures, in bytes. */
const frameLimit = 60 * 1024;

/** The largest sum of the pictures of a message, in characters of their data: URLs. */
export const pictureLimit = 170 * 1024;

/** Bytes reserved for ids and times that are not known yet. */
const spare = 512;

const utf8 = new TextEncoder();

/** The size of the frame of a message without its pictures, in bytes. */
export function frameSize(content: string, pictures: number): number {
  const interactions = Array.from({ length: pictures }, () => ({ type: "draw", timestamp: 1_700_000_000_000, imageData: "" }));
  return utf8.encode(JSON.stringify({ type: "USER_MESSAGE", data: { content, monitorId: "monitor-0", interactions } })).length + spare;
}

/** The characters available for the pictures of a message beside its text. */
export function roomFor(content: string, pictures: number): number {
  return frameSize(content, pictures) > frameLimit ? 0 : pictureLimit;
}

/** Whether a message with these pictures can be sent. */
export function fits(content: string, pictures: readonly string[]): boolean {
  const used = pictures.reduce((sum, url) => sum + url.length, 0);
  return frameSize(content, pictures.length) <= frameLimit && used <= pictureLimit;
}
