// Package apps keeps the apps of users: small pages that open as windows, that agents write and
// drive, and that belong to a user, so that every session of that user has them.
//
// # The format of an app
//
// An app is a folder. Its name is the app's id: lower-case letters, digits and dashes, at most
// 64. These files mean something:
//
//	app.json     the [Manifest], required
//	index.html   the page: one document with its scripts, styles and pictures inside
//	src/main.ts  the source, which is compiled to index.html if that is missing
//	SKILL.md     how agents use the app: its commands, its state, its files
//	icon.svg     the icon if the manifest names it; png, webp, jpeg and gif work, too
//
// Other files are kept but not served. [Bundle] is such a folder in memory.
//
// # What the page of an app can do
//
// The page runs in a sandboxed frame of another origin, without network, cookies or storage of the
// browser. It fills its window, which may be as narrow as 320 pixels. It has two objects:
//
//	yaar.app.register({appId, name, state, commands})  lets agents read state and run commands
//	yaar.app.sendInteraction(value)                    sends a message to the agent of the window,
//	                                                   right after the user clicked or typed
//	await yaar.storage.read(name)                      the text of a file of the app, or null
//	await yaar.storage.save(name, text)                writes one; at most [MaxDataFile] bytes
//	await yaar.storage.list()                          the names of all
//	await yaar.storage.remove(name)                    deletes one
//	yaar.storage.onChange(name => …)                   called after another tab or an agent changed one
//
// state and commands are objects whose members have a description and a handler; commands also
// have params. Files of an app are the same that the tools apps:read_config and apps:write_config
// read and write. They belong to the user and survive restarts and new versions of the app.
// In a window that shows no app, yaar.storage refuses everything.
//
// # Storage
//
// [Store] keeps its objects in a [files.Backend], a folder or a bucket, which replicas share: those of a user are below a
// hash of the user's name. A version of an app is a folder of its own, and the small file "current" names the one in use.
// Deploying writes the new version first and then replaces that file in one step, so that a killed process leaves
// the old or the new app. [Store.MoveFrom] copies apps from a folder to another backend.
//
// All methods are safe for concurrent use. A slow backend blocks the callers. The bounds of what a user has are checked by
// the replica that writes, so two of them that write at the same moment may exceed them a little. The package starts no
// goroutines. It refuses what is too large or too much ([ErrTooLarge], [ErrFull]), invalid names
// ([ErrID], [files.ErrName]) and invalid manifests ([ErrManifest]).
package apps
