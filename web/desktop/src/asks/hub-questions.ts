// Translates the questions that the hub writes itself, which are in English: a verb, an object and the consequence. The topic
// and the form of the text say which one it is. A question that is not recognized is shown as the hub wrote it.

import type { Consequence, Words } from "./consequence.js";
import { escapeInvisible } from "./invisible.js";

export interface HubQuestion extends Consequence {
  /** What is left to read besides title and effect; empty if nothing is. */
  readonly message: string;
  /** The label of the button that refuses it, if it is not the usual one. */
  readonly refuse?: string;
}

interface Rule {
  /** The topic; every tool has its own where this is absent. */
  readonly topic?: string;
  readonly title: RegExp;
  readonly message: RegExp;
  /** The question in words, from the groups of both expressions. */
  readonly say: (t: Words, title: readonly string[], message: readonly string[]) => HubQuestion;
}

const anything = /^[\s\S]*$/;

const rules: readonly Rule[] = [
  {
    topic: "app_delete",
    title: /^Delete an app\?$/,
    message: /^([\s\S]*) \([^()]*\) and its data would be gone, on all your desktops\.$/,
    say: (t, _, [, app = ""]) => ({ title: t.appDeleteTitle(quote(t, app)), verb: t.deleteVerb, effect: t.appDeleteEffect, danger: true, message: "" }),
  },
  {
    topic: "config_hook",
    title: /^Add a hook\?$/,
    message: /^(".*") would run whenever (?:a desktop starts|an agent uses (.*)):\n([\s\S]*)$/,
    say: (t, _, [, label = "", tools = "", payload = ""]) => ({
      title: t.hookAddTitle,
      verb: t.hookAddVerb,
      effect: tools === "" ? t.hookAtStart : tools === "a tool" ? t.hookAtTools : t.hookAtTool(escapeInvisible(tools)),
      danger: false,
      message: `${label}\n${payload}`,
    }),
  },
  {
    topic: "config_hook",
    title: /^Remove a hook\?$/,
    message: /^(".*") \([^()]*\) will not run any more\.$/,
    say: (t, _, [, label = ""]) => ({ title: t.hookRemoveTitle, verb: t.hookRemoveVerb, effect: t.hookRemoveEffect, danger: false, message: label }),
  },
  {
    topic: "config_hook",
    title: /^Forget a decision\?$/,
    message: /^You will be asked again about ("[\s\S]*")\.$/,
    say: (t, _, [, what = ""]) => ({ title: t.forgetTitle, verb: t.forgetVerb, effect: t.forgetEffect, danger: false, message: what }),
  },
  {
    topic: "http_domain",
    title: /^Allow (.+)\?$/,
    message: /^Agents could read pages of .+ and send data there, on all your desktops, until you remove it\.(?:\nThe agent says why: ([\s\S]*))?$/,
    say: (t, [, name = ""], [, why = ""]) => ({
      title: t.domainTitle(quote(t, name)),
      verb: t.allowVerb,
      effect: t.domainEffect,
      danger: false,
      message: why === "" ? "" : t.agentSaysWhy(why),
    }),
  },
  {
    topic: "notebook:run_cell",
    title: /^Run code in (.+)\?$/,
    message: anything,
    say: (t, [, notebook = ""], [message = ""]) => ({ title: t.cellTitle(quote(t, notebook)), verb: t.runVerb, effect: t.cellEffect, danger: false, message }),
  },
  {
    title: /^Let a window use (.+) of the MCP server (.+)\?$/,
    message: /^It can use it until it is closed, without asking again\. It begins with this input:\n([\s\S]*)$/,
    say: (t, [, tool = "", server = ""], [, input = ""]) => ({
      title: t.viewTitle(quote(t, tool), quote(t, server)),
      verb: t.allowVerb,
      effect: t.viewEffect,
      danger: false,
      message: input,
    }),
  },
  {
    title: /^Use (.+) of the MCP server (.+)\?$/,
    message: anything,
    say: (t, [, tool = "", server = ""], [message = ""]) => ({
      title: t.serverTitle(quote(t, tool), quote(t, server)),
      verb: t.allowVerb,
      effect: t.serverEffect,
      danger: false,
      message,
    }),
  },
  {
    title: /^Go on\?$/,
    message: /^The agents have made the (\d+) requests that they may make without asking\.$/,
    say: (t, _, [, n = ""]) => limit(t, t.limitRequests(n)),
  },
  {
    title: /^Go on\?$/,
    message: /^The agents have spent the \$([\d.]+) that they may spend without asking\.$/,
    say: (t, _, [, usd = ""]) => limit(t, t.limitCost(usd)),
  },
  {
    title: /^Go on\?$/,
    message: /^The agents may spend \$([\d.]+) without asking, but the price of their model is unknown\.$/,
    say: (t, _, [, usd = ""]) => limit(t, t.limitUnknownCost(usd)),
  },
];

const outside = /\n\nThe agent asks because this conversation has read data from (.+)\. Such data can contain instructions of others\.$/;

/** A question of the hub in the words of the page; undefined if it is none that the page knows. */
export function translateHubQuestion(topic: string, title: string, message: string, t: Words): HubQuestion | undefined {
  const read = outside.exec(message);
  const rest = read === null ? message : message.slice(0, read.index);
  const warning = read === null ? "" : t.outsideData(escapeInvisible(read[1]!));
  for (const rule of rules) {
    if (rule.topic !== undefined && rule.topic !== topic) continue;
    const inTitle = rule.title.exec(title);
    const inMessage = inTitle === null ? null : rule.message.exec(rest);
    if (inTitle === null || inMessage === null) continue;
    const said = rule.say(t, inTitle, inMessage);
    return warning === "" ? said : { ...said, effect: `${said.effect} ${warning}` };
  }
  if (read === null) return undefined;
  // The hub asks about a tool that it would run without a question otherwise.
  return { title: t.outsideTitle(escapeInvisible(title)), verb: t.allowVerb, effect: warning, danger: false, message: rest };
}

function limit(t: Words, effect: string): HubQuestion {
  return { title: t.limitTitle, verb: t.limitVerb, refuse: t.limitRefuse, effect, danger: false, message: "" };
}

function quote(t: Words, what: string): string {
  return t.quoted(escapeInvisible(what));
}
