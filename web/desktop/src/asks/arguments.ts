// What a tool is to be given, as it is read best without anything of it being left out.

/** An argument by its name, or all that is asked as one text, whose name is empty. */
export interface Argument {
  readonly name: string;
  readonly value: string;
}

/** The arguments in what a permission is asked for: the name of the tool, which is shown apart, and JSON behind it. */
export function argumentsIn(message: string, tool: string): readonly Argument[] {
  const input = message.startsWith(`${tool}\n`) ? message.slice(tool.length + 1) : message;
  const whole = input.trim() === "" ? [] : [{ name: "", value: input }];
  let parsed: unknown;
  try {
    parsed = JSON.parse(input);
  } catch {
    return whole;
  }
  if (typeof parsed !== "object" || parsed === null || !isAllIn(input, parsed)) return whole;
  if (Array.isArray(parsed)) return [{ name: "", value: JSON.stringify(parsed, null, 2) }];
  return Object.entries(parsed).map(([name, v]) => ({ name, value: typeof v === "string" ? v : JSON.stringify(v, null, 2) }));
}

const text = /"(?:[^"\\]|\\.)*"(\s*:)?/g;

/** Whether nothing got lost on the way: of names that are there twice only one is left, and large numbers are rounded. */
function isAllIn(json: string, parsed: object): boolean {
  const names = [...json.matchAll(text)].filter((m) => m[1] !== undefined).length;
  const numbers = json.replace(text, "").match(/-?\d[\d.eE+-]*/g) ?? [];
  return names === namesIn(parsed) && numbers.every((n) => String(Number(n)) === n);
}

function namesIn(v: unknown): number {
  if (typeof v !== "object" || v === null) return 0;
  const inside = Object.values(v).reduce<number>((n, x) => n + namesIn(x), 0);
  return Array.isArray(v) ? inside : inside + Object.keys(v).length;
}
