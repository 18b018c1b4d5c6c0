/** The event by which the frame of a window is asked for a picture. */
export const captureEvent = "content-capture";

export interface CaptureAsk {
  requestId: string;
  answer: (picture: Promise<string>) => void;
}
