package tools

// guideApps teaches how to write apps. It says only what works.
const guideApps = `Apps that stay on the user's desktops

When: the user wants something to use again and again (a tracker, a list, a tool of their own), not one view. Look at apps_market_list first: installing takes one call, and dev_clone copies an app to change it.

Steps
1. dev_write_ts with src/main.ts (and a .css file that it imports), or with index.html. The first call returns the sandbox.
2. dev_compile says what is wrong. dev_apply_diff_ts changes a part of a file. dev_typecheck looks for more.
3. dev_deploy with appId, name, icon (an emoji, or icon.svg in the sandbox), description and skill: a text for agents that names state, commands and files.
4. Open it: window_create, renderer iframe, content /api/apps/APPID/index.html. The icon opens it later, without you.

What the page may do: what the guide html says (no network, no libraries, no dialogs, no storage of the browser; it fills its window, from 320 pixels on), and it has storage of its own, which stays:
- await yaar.storage.read(name): the text of a file, or null. save(name, text): at most 1 MB. list(). remove(name). onChange(name => …): another tab, perhaps on another device, or an agent changed one; read it again. A save of what was changed since you read it fails with the error name ConflictError and calls onChange: nothing is overwritten.
- yaar.app.register and yaar.app.sendInteraction as in html windows. Register what an agent should be able to read and do; a command changes the data, saves it and returns what changed.
Save after every change and load at the start: the window may be closed at any time, and be open in two tabs.

src/main.ts
 import "./style.css";
 type Habit = { name: string; days: string[] };
 let habits: Habit[] = [];
 const root = document.querySelector("#app")!;
 async function load() { habits = JSON.parse((await yaar.storage.read("habits.json")) ?? "[]"); draw(); }
 async function save() { draw(); await yaar.storage.save("habits.json", JSON.stringify(habits)); }
 function draw() {
   root.replaceChildren(...habits.map((h) => { const b = document.createElement("button"); b.textContent = h.name + " " + h.days.length; b.onclick = () => { h.days.push(new Date().toISOString().slice(0, 10)); void save(); }; return b; }));
 }
 yaar.app.register({ appId: "habits", name: "Habits",
   state: { habits: { description: "all habits with their days", handler: () => habits } },
   commands: { add: { description: "add a habit", params: { name: "string" }, handler: async (p) => { habits.push({ name: String(p.name), days: [] }); await save(); return habits.length; } } } });
 yaar.storage.onChange(load);
 void load();

The page has an element with the id app. Put text into it with textContent, never names or notes as HTML. Make it look finished: spacing, a clear main button, an empty state that says what to do, keys that work.`
