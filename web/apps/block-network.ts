// Removes the network APIs that a content security policy does not cover. The header Connection-Allowlist of the page
// blocks them too, and more reliably; this is for browsers that do not support that header.

/** The APIs that open connections beside the policy. */
const connectionAPIs = ["RTCPeerConnection", "webkitRTCPeerConnection", "mozRTCPeerConnection", "RTCDataChannel", "RTCIceTransport", "WebTransport"];

/**
 * Elements with a document of their own, which would have all of these APIs again. The policy blocks their content
 * anyway.
 */
const frameSelector = "iframe, frame, object, embed, fencedframe";

/**
 * Removes these APIs from this window and all frames from its document. It must run before the first script of the
 * document.
 */
export function blockNetwork(): void {
  for (const name of connectionAPIs) Object.defineProperty(window, name, { value: undefined });
  // Scripts of the document may replace these functions, so they are read now.
  const { apply } = Reflect;
  const { remove, attachShadow } = Element.prototype;
  const inDocument = Document.prototype.querySelectorAll;
  const inShadow = DocumentFragment.prototype.querySelectorAll;
  const removeFrames = (root: Document | ShadowRoot): void => {
    const find = root instanceof Document ? inDocument : inShadow;
    const removeFound = (): void => {
      const found = apply(find, root, [frameSelector]) as NodeListOf<Element>;
      for (let i = 0; i < found.length; i++) apply(remove, found[i], []);
    };
    // The observer runs after the script that added the frame, and before the frame starts to load.
    new MutationObserver(removeFound).observe(root, { childList: true, subtree: true });
  };
  removeFrames(document);
  Object.defineProperty(Element.prototype, "attachShadow", {
    value(this: Element, init: ShadowRootInit): ShadowRoot {
      const root = apply(attachShadow, this, [init]) as ShadowRoot;
      removeFrames(root);
      return root;
    },
  });
}
