// The source of a cell in a tab: what the user typed until it is in the notebook, else that of the notebook.

/** How long the text rests before it is sent, in ms, and how long the notebook may take to have it. */
const restTime = 400;
const echoTime = 5_000;
const mostTries = 20;

/**
 * The text of a cell while a user edits it. Of two people who change the same cell, the later one in the log wins: a text that was
 * sent is only sent again while the notebook has not changed since, as when the hub was lost before it had the text.
 */
export class CellDraft {
  private typed: string | undefined;
  /** The texts that were sent and did not come back, the oldest first. */
  private sent: string[] = [];
  private tries = 0;
  private rest: ReturnType<typeof setTimeout> | undefined;
  private echo: ReturnType<typeof setTimeout> | undefined;
  private readonly send: (text: string) => void;
  private readonly show: (text: string) => void;

  constructor(send: (text: string) => void, show: (text: string) => void) {
    this.send = send;
    this.show = show;
  }

  /** Takes what the user typed and sends it when the user rests. */
  type(text: string): void {
    this.show(text);
    this.typed = text;
    clearTimeout(this.rest);
    this.rest = setTimeout(() => this.flush(), restTime);
  }

  /** Sends what was typed now. */
  flush(): void {
    clearTimeout(this.rest);
    if (this.typed === undefined) return;
    this.sent.push(this.typed);
    this.typed = undefined;
    this.sendLast();
  }

  /** Takes the source of the notebook after it changed. */
  sourceChanged(source: string): void {
    // One's own texts come back in order. Another text is by someone else and later than what has come back; changes that the
    // page draws at once hide the ones before.
    const mine = this.sent.indexOf(source);
    this.sent = mine < 0 ? [] : this.sent.slice(mine + 1);
    if (this.sent.length > 0) return;
    clearTimeout(this.echo);
    this.tries = 0;
    if (this.typed === undefined) this.show(source);
  }

  /** Sends what was typed, and nothing after that. */
  close(): void {
    this.flush();
    clearTimeout(this.echo);
  }

  private sendLast(): void {
    const last = this.sent.at(-1);
    if (last === undefined) return;
    this.send(last);
    clearTimeout(this.echo);
    // After a refusal nothing comes back.
    this.echo = setTimeout(() => {
      this.tries++;
      if (this.tries <= mostTries) this.sendLast();
    }, echoTime);
  }
}
