package settingsfile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/everdesk/everdesk/modes"
	"github.com/everdesk/everdesk/profiles"
	"github.com/everdesk/everdesk/secrets"
	"github.com/everdesk/everdesk/wire"
)

// Kind is the kind of an [Item].
type Kind string

// The kinds, in the order in which items are to be set: a profile before its secret, so that the secret of a
// refused profile is not stored, and roles and modes after the profiles that they name.
const (
	KindSetting  Kind = "setting"
	KindProfile  Kind = "profile"
	KindSecret   Kind = "secret"
	KindRole     Kind = "role"
	KindMode     Kind = "mode"
	KindApproval Kind = "approval"
)

// Item is one thing to set.
type Item struct {
	Kind Kind
	// Key is the key in the file that it comes from, as in settings.language.
	Key string
	// Name is the name of a setting or of a secret, or a role.
	Name string
	// Value is the value of a setting.
	Value json.RawMessage
	// Secret is the value of a secret. Profile is the id of the profile that it is for, or empty; it is also
	// the profile of a role.
	Secret  secrets.Value
	Profile string
	// Model is a profile.
	Model profiles.Profile
	// Mode is a mode.
	Mode modes.Mode
	// Approval holds auto-approval rules. Keys are the keys that they come from.
	Approval wire.AutoApproval
	Keys     []string
}

// Outcome is what happened to a key.
type Outcome string

// The outcomes.
const (
	Taken   Outcome = "taken"
	Unknown Outcome = "unknown" // this version has nothing for it
	Refused Outcome = "refused" // it is not valid, or may not be set
	LeftOut Outcome = "left out"
)

// Note says what happened to a key of the file. It never quotes a value.
type Note struct {
	Key     string  `json:"key"`
	Outcome Outcome `json:"outcome"`
	Detail  string  `json:"detail,omitempty"`
}

// Import is what a file asks for.
type Import struct {
	// Source names the program that wrote the file.
	Source string
	Items  []Item
	// Notes are about the keys that became no item.
	Notes []Note
	// Sealed are the encrypted secrets; empty if the file has none. See [Open] and [Import.AddSecrets].
	Sealed string
}

// Have is what the user has already.
type Have struct {
	// Profiles are the profiles, those of the hub included.
	Profiles []profiles.Profile
	// Modes are the modes, those of the hub included.
	Modes []modes.Mode
	// Backends are the names of backends, which no profile can have as its id.
	Backends []string
}

// Parse reads a file. The error is [ErrFormat] if it is no settings file.
func Parse(data []byte, have Have) (*Import, error) {
	if len(data) > MaxBytes {
		return nil, fmt.Errorf("%w of at most %d bytes", ErrFormat, MaxBytes)
	}
	fields, ok := object(bytes.TrimPrefix(data, []byte("\ufeff")))
	if !ok {
		return nil, fmt.Errorf("%w; this is no JSON object", ErrFormat)
	}
	im := &Import{}
	var err error
	switch {
	case fields["format"] != nil:
		err = im.parseOwn(fields)
	case fields["providerProfiles"] != nil:
		err = im.parseRoo(fields, have)
	default:
		return nil, fmt.Errorf("%w; it has neither format nor providerProfiles", ErrFormat)
	}
	if err != nil {
		return nil, err
	}
	order := []Kind{KindSetting, KindProfile, KindSecret, KindRole, KindMode, KindApproval}
	slices.SortStableFunc(im.Items, func(a, b Item) int { return slices.Index(order, a.Kind) - slices.Index(order, b.Kind) })
	return im, nil
}

// AddSecrets adds decrypted secrets to the items.
func (im *Import) AddSecrets(all map[string]secrets.Value) {
	for _, name := range slices.Sorted(maps.Keys(all)) {
		im.Items = append(im.Items, Item{Kind: KindSecret, Key: "secrets." + name, Name: name, Secret: all[name]})
	}
}

func (im *Import) addResult(key string, outcome Outcome, format string, args ...any) {
	im.Notes = append(im.Notes, Note{Key: key, Outcome: outcome, Detail: fmt.Sprintf(format, args...)})
}

// noSuchSetting is the detail of keys that this version has nothing for.
const noSuchSetting = "there is nothing like it here"

// parseOwn reads the format of this package.
func (im *Import) parseOwn(fields map[string]json.RawMessage) error {
	if name, ok := text(fields["format"]); !ok || name != Format {
		return fmt.Errorf("%w; its format is another one", ErrFormat)
	}
	var version int
	if json.Unmarshal(fields["version"], &version) != nil || version < 1 {
		return fmt.Errorf("%w; it has no version", ErrFormat)
	}
	if version > Version {
		return fmt.Errorf("%w; this one has version %d, and this program reads up to %d", ErrFormat, version, Version)
	}
	im.Source = "Everdesk"
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		value := fields[key]
		switch key {
		case "format", "version", "exportedAt":
		case "settings":
			im.ownObject(key, value, func(name string, v json.RawMessage) {
				im.Items = append(im.Items, Item{Kind: KindSetting, Key: key + "." + name, Name: name, Value: v})
			})
		case "modelProfiles":
			im.ownProfiles(value)
		case "roles":
			im.ownObject(key, value, func(name string, v json.RawMessage) {
				id, ok := text(v)
				if !ok || id == "" {
					im.addResult(key+"."+name, Refused, "want the id of a profile")
					return
				}
				im.Items = append(im.Items, Item{Kind: KindRole, Key: key + "." + name, Name: name, Profile: id})
			})
		case "modes":
			im.ownModes(value)
		case "autoApproval":
			im.ownApproval(value)
		case "secrets":
			im.ownSecrets(value)
		default:
			im.addResult(key, Unknown, noSuchSetting)
		}
	}
	return nil
}

// ownObject calls each for the fields of an object, ordered by name.
func (im *Import) ownObject(key string, value json.RawMessage, each func(name string, v json.RawMessage)) {
	all, ok := object(value)
	if !ok {
		im.addResult(key, Refused, "want an object")
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		each(name, all[name])
	}
}

func (im *Import) ownProfiles(value json.RawMessage) {
	var list []json.RawMessage
	if json.Unmarshal(value, &list) != nil {
		im.addResult("modelProfiles", Refused, "want a list")
		return
	}
	for i, one := range list {
		key := fmt.Sprintf("modelProfiles[%d]", i)
		var p profiles.Profile
		if _, ok := object(one); !ok || json.Unmarshal(one, &p) != nil {
			im.addResult(key, Refused, "want an object with the fields of a profile")
			continue
		}
		im.addProfile(key, p)
	}
}

func (im *Import) ownModes(value json.RawMessage) {
	var list []json.RawMessage
	if json.Unmarshal(value, &list) != nil {
		im.addResult("modes", Refused, "want a list")
		return
	}
	for i, one := range list {
		key := fmt.Sprintf("modes[%d]", i)
		var m modes.Mode
		if _, ok := object(one); !ok || json.Unmarshal(one, &m) != nil {
			im.addResult(key, Refused, "want an object with the fields of a mode")
			continue
		}
		if err := m.Check(); err != nil {
			im.addResult(key, Refused, "%v", err)
			continue
		}
		im.Items = append(im.Items, Item{Kind: KindMode, Key: key, Mode: m})
	}
}

// ownApproval reads the default auto-approval rules, each rule on its own.
func (im *Import) ownApproval(value json.RawMessage) {
	item := Item{Kind: KindApproval, Key: "autoApproval"}
	isRule := approvalKeys()
	isRule["allowedMcpTools"], isRule["alwaysAllowAfterOutsideData"] = true, true
	im.ownObject(item.Key, value, func(name string, v json.RawMessage) {
		key := item.Key + "." + name
		if !isRule[name] {
			im.addResult(key, Unknown, noSuchSetting)
			return
		}
		if err := setRule(&item.Approval, name, v); err != nil {
			im.addResult(key, Refused, "%v", err)
			return
		}
		item.Keys = append(item.Keys, key)
	})
	if _, ok := object(value); ok && len(item.Keys) == 0 {
		item.Keys = []string{item.Key} // rules that are all off
	}
	if len(item.Keys) > 0 {
		im.Items = append(im.Items, item)
	}
}

// addProfile adds a profile if it is valid, and reports whether it is.
func (im *Import) addProfile(key string, p profiles.Profile) bool {
	if err := p.Check(); err != nil {
		im.addResult(key, Refused, "%v", err)
		return false
	}
	im.Items = append(im.Items, Item{Kind: KindProfile, Key: key, Model: p})
	return true
}

func (im *Import) ownSecrets(value json.RawMessage) {
	var s fileSecrets
	if _, ok := object(value); !ok || json.Unmarshal(value, &s) != nil {
		im.addResult("secrets", Refused, "want an object with names")
		return
	}
	if im.Sealed = s.Sealed; s.Sealed != "" {
		return
	}
	for _, name := range s.Names {
		im.addResult("secrets."+name, LeftOut, "the file has no value; set it with hub secrets set")
	}
}

// object decodes a JSON object, and reports whether it is one. Unlike structs, maps distinguish upper and lower case.
func object(data []byte) (map[string]json.RawMessage, bool) {
	var fields map[string]json.RawMessage
	if !utf8.Valid(data) || json.Unmarshal(data, &fields) != nil || fields == nil {
		return nil, false
	}
	return fields, true
}

// text decodes a JSON text, and reports whether it is one.
func text(data json.RawMessage) (string, bool) {
	var s string
	if !bytes.HasPrefix(bytes.TrimSpace(data), []byte(`"`)) || json.Unmarshal(data, &s) != nil {
		return "", false
	}
	return strings.TrimSpace(s), true
}
