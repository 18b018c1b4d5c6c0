// Formats dates, numbers and sizes for a language.

import type { Language } from "../../../desktop/src/i18n/texts.js";

export interface Format {
  number(n: number): string;
  /** As in 12.4k. */
  short(n: number): string;
  usd(n: number): string;
  /** As in 14:05:09. */
  clock(ms: number): string;
  /** As in 15 Nov, 14:05:09. */
  moment(ms: number): string;
  /** A duration in its largest unit, as in 12s or 3h. */
  age(ms: number): string;
  /** A latency, as in 340 µs or 1.2 ms. */
  latency(seconds: number): string;
  bytes(n: number): string;
}

function formatOf(language: Language): Format {
  const tag = language === "ko" ? "ko-KR" : "en-GB";
  const number = new Intl.NumberFormat(tag, { maximumFractionDigits: 1 });
  const short = new Intl.NumberFormat("en-GB", { notation: "compact", maximumFractionDigits: 1 });
  const usd = new Intl.NumberFormat(tag, { style: "currency", currency: "USD", minimumFractionDigits: 2, maximumFractionDigits: 4 });
  const clock = new Intl.DateTimeFormat(tag, { hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false });
  const moment = new Intl.DateTimeFormat(tag, { month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false });
  const spans: [number, string][] = language === "ko" ? [[86_400, "일"], [3600, "시간"], [60, "분"], [1, "초"]] : [[86_400, "d"], [3600, "h"], [60, "m"], [1, "s"]];
  return {
    number: (n) => number.format(n),
    short: (n) => short.format(n).toLowerCase(),
    usd: (n) => usd.format(n),
    clock: (ms) => clock.format(ms),
    moment: (ms) => moment.format(ms),
    age: (ms) => {
      const s = Math.max(0, Math.floor(ms / 1000));
      const [length, unit] = spans.find(([l]) => s >= l) ?? spans.at(-1)!;
      return `${Math.floor(s / length)}${unit}`;
    },
    latency: (seconds) => {
      if (seconds <= 0) return "–";
      if (seconds < 0.001) return `${Math.round(seconds * 1e6)} µs`;
      if (seconds < 1) return `${(seconds * 1e3).toFixed(seconds < 0.01 ? 1 : 0)} ms`;
      return `${seconds.toFixed(1)} s`;
    },
    bytes: (n) => {
      if (n <= 0) return "–";
      const mega = n / (1024 * 1024);
      return mega < 1024 ? `${Math.round(mega)} MiB` : `${(mega / 1024).toFixed(1)} GiB`;
    },
  };
}

export const formats: Record<Language, Format> = { en: formatOf("en"), ko: formatOf("ko") };
