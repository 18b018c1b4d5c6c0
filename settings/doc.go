// Package settings declares what users and operators can set while the hub runs, and stores the
// values.
//
// [Catalogue] is the only declaration of a setting: its name, type, range, default, scope and who
// may change it. Validation, the JSON Schema, the REST API, docs/PROTOCOL.md, `hub settings` and the
// form in the desktop are made from it.
//
// # Values
//
// A setting has values in up to three scopes: hub, user and session. The narrowest one counts, then
// the wider ones, then the default. [Setting.Scope] is the narrowest scope in which a setting may
// have a value; in the wider ones its value is the default of all that are below. A [Pin], a value
// from a flag or a file of the operator, overrides all of them and cannot be changed.
//
// The values of one owner are one document of the store: an object of JSON values by name. Users have a
// second one for settings that versions without a catalogue do not know, because those write theirs as a
// whole. Each value
// is checked on its own when it is read and when it is changed. A value that is not valid, perhaps
// written by another version, counts as absent and is reported in [State.Invalid]; it blocks no other
// value. Names that this version does not know are kept.
//
// # Changes
//
// [Store.Change] writes with compare-and-set, so that changes of different settings by several tabs
// and replicas all take effect. A [Change] may carry the value that its author saw: if another change
// came first, it is refused as a conflict and the author decides again. A change that is refused
// blocks no other change of the same call.
//
// Every change is published; [Store.Watch] delivers it on all replicas within a second.
//
// A Store is safe for concurrent use. It keeps nothing in memory: a read is one document per scope.
package settings
