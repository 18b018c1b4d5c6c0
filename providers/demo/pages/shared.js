const root = document.documentElement, ko = root.lang === "ko", kind = root.dataset.kind ?? "";
const given = JSON.parse(root.dataset.items ?? "[]");
const t = (english, korean) => (ko ? korean : english);
const $ = (selector) => document.querySelector(selector);
const el = (tag, props = {}, ...kids) => {
  const e = Object.assign(document.createElement(tag), props);
  e.append(...kids);
  return e;
};
addEventListener("DOMContentLoaded", () => {
  if (!ko) return;
  for (const e of document.querySelectorAll("[data-ko]")) e.textContent = e.dataset.ko;
  for (const e of document.querySelectorAll("[data-ko-label]")) e.ariaLabel = e.dataset.koLabel;
});
// Forms are off in the sandbox of these pages: a button and Enter in the field stand in for the submission of #form.
const submitted = (act) => {
  $("#form button").onclick = act;
  $("#form input").onkeydown = (e) => { if (e.key === "Enter" && !e.isComposing) act(); };
};
