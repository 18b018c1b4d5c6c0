// Formats the arguments of a tool for reading, without leaving anything out.

/** One argument with its name; the name is empty when the value is the whole input. */
export interface Argument {
  readonly name: string;
  readonly value: string;
}

/**
 * Parses the message of a permission request: the name of the tool, which is shown separately, and its arguments as
 * JSON. Returns the input as one text unless it is JSON that survives parsing unchanged.
 */
export function parseArguments(message: string, tool: string): readonly Argument[] {
  const input = message.startsWith(`${tool}\n`) ? message.slice(tool.length + 1) : message;
  const whole = input.trim() === "" ? [] : [{ name: "", value: input }];
  let parsed: unknown;
  try {
    parsed = JSON.parse(input);
  } catch {
    return whole;
  }
  if (typeof parsed !== "object" || parsed === null || !isLossless(input, parsed)) return whole;
  if (Array.isArray(parsed)) return [{ name: "", value: JSON.stringify(parsed, null, 2) }];
  return Object.entries(parsed).map(([name, v]) => ({ name, value: textOf(v) }));
}

/** A list of texts has a line for each; other values are JSON. */
function textOf(v: unknown): string {
  if (typeof v === "string") return v;
  const lines = Array.isArray(v) && v.length > 0 && v.every((x) => typeof x === "string" && x.trim() !== "" && !/[\n\r]/.test(x));
  return lines ? `• ${v.join("\n• ")}` : JSON.stringify(v, null, 2);
}

const stringLiteral = /"(?:[^"\\]|\\.)*"(\s*:)?/g;

/** Whether parsing kept everything: JSON.parse drops all but the last of equal names and rounds large numbers. */
function isLossless(json: string, parsed: object): boolean {
  const names = [...json.matchAll(stringLiteral)].filter((m) => m[1] !== undefined).length;
  const numbers = json.replace(stringLiteral, "").match(/-?\d[\d.eE+-]*/g) ?? [];
  return names === countNames(parsed) && numbers.every((n) => String(Number(n)) === n);
}

function countNames(v: unknown): number {
  if (typeof v !== "object" || v === null) return 0;
  const inside = Object.values(v).reduce<number>((n, x) => n + countNames(x), 0);
  return Array.isArray(v) ? inside : inside + Object.keys(v).length;
}
