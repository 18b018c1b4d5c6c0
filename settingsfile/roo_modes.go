package settingsfile

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/everdesk/everdesk/modes"
)

// rooModes collects the modes of a settings file of Roo-Code, by id.
type rooModes struct {
	im    *Import
	known map[string]modes.Mode // those that the user has
	taken map[string]modes.Mode
	keys  map[string]string
}

func newRooModes(im *Import, have Have) *rooModes {
	r := &rooModes{im: im, known: map[string]modes.Mode{}, taken: map[string]modes.Mode{}, keys: map[string]string{}}
	for _, m := range slices.Concat(modes.Shipped(), have.Modes) {
		r.known[m.ID] = m
	}
	return r
}

// custom reads customModes.
func (r *rooModes) custom(key string, value json.RawMessage) {
	var list []json.RawMessage
	if json.Unmarshal(value, &list) != nil {
		r.im.addResult(key, Refused, "want a list")
		return
	}
	for i, one := range list {
		r.mode(fmt.Sprintf("%s[%d]", key, i), one)
	}
}

// mode reads one of customModes.
func (r *rooModes) mode(key string, value json.RawMessage) {
	fields, ok := object(value)
	if !ok {
		r.im.addResult(key, Refused, "want an object")
		return
	}
	read := rooReader{im: r.im, key: key, fields: fields, used: map[string]bool{"groups": true, "source": true}}
	m := modes.Mode{ID: strings.ToLower(read.text("slug")), Name: read.text("name")}
	parts := []string{read.text("roleDefinition"), read.text("customInstructions")}
	m.Instructions = strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), "\n\n")
	m.Tools = r.tools(key+".groups", fields["groups"])
	if m.Tools == "" {
		return
	}
	read.noteUnused()
	r.add(key, m)
}

// tools returns the tool profile for groups of tools. They may have files that they are limited to, which tool
// profiles do not have: such a mode changes no files.
func (r *rooModes) tools(key string, value json.RawMessage) string {
	var groups []json.RawMessage
	if json.Unmarshal(value, &groups) != nil {
		r.im.addResult(key, Refused, "want a list of groups of tools")
		return ""
	}
	profile := modes.ToolsRead
	for i, g := range groups {
		name, ok := text(g)
		var limited []json.RawMessage
		if !ok && json.Unmarshal(g, &limited) == nil && len(limited) > 0 {
			name, ok = text(limited[0])
		}
		switch {
		case !ok:
			r.im.addResult(fmt.Sprintf("%s[%d]", key, i), Refused, "want the name of a group")
		case len(limited) > 1:
			r.im.addResult(fmt.Sprintf("%s[%d]", key, i), LeftOut, "a mode cannot be limited to some files; it changes none")
			if profile == modes.ToolsRead {
				profile = modes.ToolsShow
			}
		case name == "edit" || name == "command" || name == "mcp":
			profile = modes.ToolsAll
		case name != "read" && name != "browser" && name != "modes":
			r.im.addResult(fmt.Sprintf("%s[%d]", key, i), Unknown, noSuchSetting)
		}
	}
	return profile
}

// add adds a mode if it is valid and the file has no other one with its id.
func (r *rooModes) add(key string, m modes.Mode) {
	err := m.Check()
	_, twice := r.taken[m.ID]
	switch {
	case err != nil:
		r.im.addResult(key, Refused, "%v", err)
	case twice:
		r.im.addResult(key, Refused, "the file has another mode with this slug")
	default:
		r.taken[m.ID], r.keys[m.ID] = m, key
	}
}

// models reads modeApiConfigs: the ids of profiles by mode. byRooID are the ids here.
func (r *rooModes) models(key string, value json.RawMessage, byRooID map[string]string) {
	all, ok := object(value)
	if !ok {
		r.im.addResult(key, Refused, "want an object")
		return
	}
	for _, slug := range slices.Sorted(maps.Keys(all)) {
		at := key + "." + slug
		id, ok := text(all[slug])
		if !ok {
			r.im.addResult(at, Refused, "want the id of a profile")
			continue
		}
		m, known := r.taken[strings.ToLower(slug)]
		if !known {
			if m, known = r.known[strings.ToLower(slug)]; known {
				r.keys[m.ID] = at
			}
		}
		switch {
		case !known:
			r.im.addResult(at, Unknown, "there is no such mode here")
		case byRooID[id] == "":
			r.im.addResult(at, Refused, "there is no such profile in the file that can be taken")
			if _, taken := r.taken[m.ID]; !taken {
				delete(r.keys, m.ID)
			}
		default:
			m.Model = byRooID[id]
			r.taken[m.ID] = m
			if r.keys[m.ID] != at {
				r.im.addResult(at, Taken, "with the mode")
			}
		}
	}
}

// finish adds the modes to the items.
func (r *rooModes) finish() {
	for _, id := range slices.Sorted(maps.Keys(r.taken)) {
		r.im.Items = append(r.im.Items, Item{Kind: KindMode, Key: r.keys[id], Mode: r.taken[id]})
	}
}
