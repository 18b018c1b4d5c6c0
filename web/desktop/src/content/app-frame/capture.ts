/** The event that requests a picture of the page in a window's frame. */
export const captureEvent = "content-capture";

export interface CaptureRequest {
  requestId: string;
  answer: (picture: Promise<string>) => void;
}
