const korean = navigator.language.startsWith("ko");
const t = (en, ko) => (korean ? ko : en);
const $ = (selector) => document.querySelector(selector);
const newID = () => Date.now().toString(36) + Math.random().toString(36).slice(2, 6);
/** Makes an element. Children are elements or text, never HTML. */
function h(tag, props = {}, ...children) {
  const el = document.createElement(tag);
  for (const [key, value] of Object.entries(props)) {
    if (key.startsWith("on")) el.addEventListener(key.slice(2), value);
    else if (key in el && typeof value !== "string") el[key] = value;
    else if (value !== undefined) el.setAttribute(key, value);
  }
  el.append(...children.flat().filter((c) => c !== undefined && c !== null && c !== false));
  return el;
}
/** Runs act for Enter in a field, but not for an Enter that ends the composition of a character. */
const onEnter = (act) => (e) => {
  if (e.key !== "Enter" || e.isComposing || e.shiftKey) return;
  e.preventDefault();
  act();
};
function notify(text) {
  $("#notice").textContent = text;
}
/** The value of a parameter of a command, which agents may have left out. */
function need(params, key, type = "string") {
  const value = params?.[key];
  if (typeof value !== type || value === "" || Number.isNaN(value)) throw new Error(`${key}: a ${type} is needed`);
  return value;
}
/** Data in a file of the app. show draws it whenever it changes, here, in another tab or by an agent. */
function saved(file, empty, show) {
  const files = window.yaar?.storage;
  let readable = false;
  let last = Promise.resolve();
  const store = {
    data: empty(),
    async load() {
      try {
        const text = (await files?.read(file)) ?? null;
        readable = files !== undefined;
        const data = JSON.parse(text ?? "null");
        if (data !== null && typeof data === "object") store.data = { ...empty(), ...data };
      } catch (e) {
        // What could not be read is not replaced either.
        notify(t("Nothing is kept in this window: ", "이 창에서는 아무것도 보관되지 않아요: ") + e.message);
      }
      show();
    },
    /** Saves after all earlier saves. */
    async save() {
      show();
      if (!readable) return;
      last = last.catch(() => undefined).then(() => files.save(file, JSON.stringify(store.data)));
      try {
        await last;
        notify("");
      } catch (e) {
        // The newer data is on its way: the storage reports the change.
        if (e.name === "ConflictError") notify(t("This was changed elsewhere. Here is the newer version; please do it again.", "다른 곳에서 바뀌었어요. 새 내용을 보여 드리니 다시 해 주세요."));
        else notify(t("Not saved: ", "저장하지 못했어요: ") + e.message);
        throw e;
      }
    },
    /** Saves what a person did; the notice tells about failures. */
    keep() {
      store.save().catch(() => undefined);
    },
  };
  files?.onChange?.((name) => (name === undefined || name === file) && store.load());
  return store;
}
