import { useShell } from "../shell/context.js";
import type { Language, Texts } from "./texts.js";

/** The given texts in the language of the page. */
export function useTexts<T>(texts: Texts<T>): Texts<T>["en"] {
  const language = useShell((s) => s.language);
  return texts[language];
}

/** Formats dates and numbers for the language of the page. */
export function useFormat(): Format {
  const language = useShell((s) => s.language);
  return formats[language];
}

export interface Format {
  /** As in 14:05. */
  time(ms: number): string;
  /** As in Nov 15, 14:05. */
  moment(ms: number): string;
  number(n: number): string;
  /** A duration, as in 1:05 or 12 s. */
  elapsed(ms: number): string;
  usd(n: number): string;
  /** A cost, of which a part may be unknown; empty for nothing. */
  cost(usd: number, unknown: boolean): string;
}

function formatOf(language: Language): Format {
  const tag = language === "ko" ? "ko-KR" : "en-GB";
  const time = new Intl.DateTimeFormat(tag, { hour: "2-digit", minute: "2-digit", hour12: false });
  const moment = new Intl.DateTimeFormat(tag, { month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", hour12: false });
  const number = new Intl.NumberFormat(tag);
  const usd = new Intl.NumberFormat(tag, { style: "currency", currency: "USD", minimumFractionDigits: 2, maximumFractionDigits: 4 });
  return {
    time: (ms) => time.format(ms),
    moment: (ms) => moment.format(ms),
    number: (n) => number.format(n),
    usd: (n) => usd.format(n),
    cost: (n, unknown) => {
      if (!unknown) return n > 0 ? usd.format(n) : "";
      if (n > 0) return language === "ko" ? `${usd.format(n)} 이상` : `${usd.format(n)} and more`;
      return language === "ko" ? "비용 모름" : "cost unknown";
    },
    elapsed: (ms) => {
      const s = Math.max(0, Math.round(ms / 1000));
      if (s < 60) return language === "ko" ? `${s}초` : `${s} s`;
      return `${Math.floor(s / 60)}:${String(s % 60).padStart(2, "0")}`;
    },
  };
}

const formats: Record<Language, Format> = { en: formatOf("en"), ko: formatOf("ko") };
