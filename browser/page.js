// Functions that the hub runs in a page. Each is evaluated alone and returns plain data.
({
  /** The centre of the element that a selector or a text names, after it was scrolled into view. */
  locate(selector, text) {
    const isVisible = (e) => {
      const r = e.getBoundingClientRect();
      return r.width > 0 && r.height > 0 && getComputedStyle(e).visibility !== "hidden";
    };
    const labelOf = (e) => (e.innerText || e.value || e.getAttribute("aria-label") || e.title || e.alt || "").trim().replace(/\s+/g, " ");
    let found;
    if (selector !== "") {
      found = [...document.querySelectorAll(selector)].find(isVisible);
    } else {
      const wanted = text.trim().replace(/\s+/g, " ").toLowerCase();
      const usual = "a,button,summary,label,option,input,select,textarea,[role=button],[role=link],[role=tab],[role=menuitem],[role=checkbox],[onclick]";
      for (const all of [usual, "body *"]) {
        const some = [...document.querySelectorAll(all)].filter((e) => isVisible(e) && labelOf(e).toLowerCase().includes(wanted));
        const exact = some.filter((e) => labelOf(e).toLowerCase() === wanted);
        // The innermost element is the one that a person would click.
        found = (exact.length > 0 ? exact : some).sort((a, b) => labelOf(a).length - labelOf(b).length).at(exact.length > 0 ? -1 : 0);
        if (found) break;
      }
    }
    if (!found) return { found: false };
    found.scrollIntoView({ block: "center", inline: "center", behavior: "instant" });
    const r = found.getBoundingClientRect();
    return { found: true, x: r.x + r.width / 2, y: r.y + r.height / 2, name: labelOf(found).slice(0, 200), tag: found.tagName.toLowerCase() };
  },

  /** Focuses an element and selects what it contains, so that inserted text replaces it. */
  focus(selector) {
    const e = document.querySelector(selector);
    if (!e) return { found: false };
    e.scrollIntoView({ block: "center", behavior: "instant" });
    e.focus();
    if (typeof e.select === "function") e.select();
    else if (e.isContentEditable) getSelection().selectAllChildren(e);
    return { found: true, editable: document.activeElement === e && (e.isContentEditable || "value" in e), kind: e.type ?? "" };
  },

  scroll(direction) {
    const page = innerHeight * 0.85;
    const to = { up: scrollY - page, down: scrollY + page, top: 0, bottom: document.documentElement.scrollHeight }[direction];
    scrollTo({ top: to, behavior: "instant" });
    return { y: Math.round(scrollY), height: document.documentElement.scrollHeight, view: innerHeight };
  },

  /** The text and the links of the page, or of the first element that a selector names. */
  extract(selector, most, links) {
    const e = selector === "" ? document.body : document.querySelector(selector);
    if (!e) return { found: false };
    const text = (e.innerText ?? e.textContent ?? "").slice(0, most);
    const seen = new Map();
    for (const a of e.querySelectorAll("a[href]")) {
      if (seen.size >= links) break;
      if (/^https?:/.test(a.href) && !seen.has(a.href)) seen.set(a.href.slice(0, 2000), (a.innerText || a.title || "").trim().replace(/\s+/g, " ").slice(0, 100));
    }
    return { found: true, text, links: [...seen].map(([url, label]) => ({ url, label })) };
  },

  state() {
    return { url: location.href.slice(0, 4000), title: document.title.slice(0, 500) };
  },
})
