// Sanitizes HTML of an agent: it cannot run scripts, load anything from other sites, imitate the desktop or cover it.
// The result is a fragment that is not attached to a document.

import DOMPurify, { type Config } from "dompurify";
import { hostOf, isAllowedSource } from "../addresses.js";

const config = {
  USE_PROFILES: { html: true },
  FORBID_TAGS: [
    ...["style", "form", "input", "button", "textarea", "select", "option", "dialog", "iframe", "object", "embed", "base", "link", "meta"],
    ...["audio", "video", "source", "track", "picture", "map", "area", "marquee", "template", "slot", "canvas", "label", "fieldset"],
  ],
  FORBID_ATTR: [
    ...["style", "name", "id", "class", "srcset", "ping", "formaction", "action"],
    ...["background", "poster", "role", "tabindex", "popover", "popovertarget", "popovertargetaction", "accesskey", "usemap", "is", "slot"],
  ],
  ALLOW_DATA_ATTR: false,
  ALLOW_ARIA_ATTR: false,
  SANITIZE_NAMED_PROPS: true,
  ALLOWED_URI_REGEXP:
    /^(https?:|mailto:|blob:|data:image\/(png|jpeg|gif|webp);|\/files\/|\/api\/storage\/|\/api\/sessions\/[^/]+\/files\/|#)/i,
  // The rule for addresses applies to all attributes except these, whose values are no addresses.
  ADD_URI_SAFE_ATTR: ["align", "colspan", "rowspan", "start", "reversed", "type", "width", "height", "lang", "dir", "open", "datetime", "valign"],
  RETURN_DOM_FRAGMENT: true,
} satisfies Config;

/** The attribute for the host of a picture that must not be loaded. */
export const blockedAttribute = "data-blocked";

DOMPurify.addHook("uponSanitizeAttribute", (node, data) => {
  if (data.attrName !== "src" || isAllowedSource(data.attrValue)) return;
  data.keepAttr = false;
  if (node.nodeName === "IMG") node.setAttribute(blockedAttribute, hostOf(data.attrValue));
});

DOMPurify.addHook("afterSanitizeAttributes", (node) => {
  if (node.nodeName !== "IMG" && node.hasAttribute("src")) node.removeAttribute("src");
  if (node.nodeName !== "A" || !node.hasAttribute("href")) return;
  node.setAttribute("rel", "noopener noreferrer nofollow");
  node.setAttribute("target", "_blank");
});

// Once for the page: reading it takes longer than sanitizing a usual text.
DOMPurify.setConfig(config);

/** Fragments that were sanitized, by their HTML, the latest last. They are needed again when a film is moved and when a window is opened again. */
const known = new Map<string, DocumentFragment>();
const maxKnown = 500;
/** The document of all of them. Each came with a document of its own, which would be kept, too. Nothing in it is loaded or run. */
const owner = document.implementation.createHTMLDocument("");
/** The longest HTML that is kept, in characters. */
const maxKnownLength = 4000;

/** Returns a fragment that belongs to the caller. */
export function sanitize(html: string): DocumentFragment {
  if (html.length > maxKnownLength) return sanitizeAgain(html);
  const fragment = known.get(html) ?? owner.adoptNode(sanitizeAgain(html));
  known.delete(html);
  known.set(html, fragment);
  if (known.size > maxKnown) known.delete(known.keys().next().value!);
  return fragment.cloneNode(true) as DocumentFragment;
}

function sanitizeAgain(html: string): DocumentFragment {
  return DOMPurify.sanitize(html, config); // it has the configuration already; this one says the type of the result
}
