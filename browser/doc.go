// Package browser lets agents use web pages in a Chromium that is installed on the hub's machine.
//
// [Manager] has at most one browser for each session: a process with a profile of its own, which is
// deleted when the browser ends. It starts with the first page and ends when the session's owner ends
// it, after a time without use, or when it needs too much memory. One action runs at a time.
//
// A page reaches what a tool of the hub may reach, and no more. Every connection of the browser goes
// through a proxy inside the hub, which resolves the name and checks the address as package outbound
// does; the browser resolves nothing itself. The page that is shown must be on a domain that the user
// has allowed: each navigation, also a redirect or a submitted form, is checked before it is requested.
//
// What a page contains is data for the model, never an instruction.
package browser
