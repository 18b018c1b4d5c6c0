// Closes the ways to a network that a policy of content does not know. The header Connection-Allowlist of the page closes
// them too, and more surely; this is for browsers that do not know that header.

/** What opens connections beside the policy. */
const openers = ["RTCPeerConnection", "webkitRTCPeerConnection", "mozRTCPeerConnection", "RTCDataChannel", "RTCIceTransport", "WebTransport"];

/** A frame within would bring all of these along again. No frame can show anything here, so none is missed. */
const frames = "iframe, frame, object, embed, fencedframe";

/** Takes from this window what leads out of it. It comes before the first script of the document. */
export function seal(): void {
  for (const name of openers) Object.defineProperty(window, name, { value: undefined });
  // Scripts of the document may change what these names mean.
  const { apply } = Reflect;
  const { remove, attachShadow } = Element.prototype;
  const inDocument = Document.prototype.querySelectorAll;
  const inShadow = DocumentFragment.prototype.querySelectorAll;
  const watch = (root: Document | ShadowRoot): void => {
    const find = root instanceof Document ? inDocument : inShadow;
    const clear = (): void => {
      const found = apply(find, root, [frames]) as NodeListOf<Element>;
      for (let i = 0; i < found.length; i++) apply(remove, found[i], []);
    };
    // It comes after the script that made the frame, and before the frame begins to load.
    new MutationObserver(clear).observe(root, { childList: true, subtree: true });
  };
  watch(document);
  Object.defineProperty(Element.prototype, "attachShadow", {
    value(this: Element, init: ShadowRootInit): ShadowRoot {
      const root = apply(attachShadow, this, [init]) as ShadowRoot;
      watch(root);
      return root;
    },
  });
}
