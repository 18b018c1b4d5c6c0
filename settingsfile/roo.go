package settingsfile

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/everdesk/everdesk/profiles"
	"github.com/everdesk/everdesk/secrets"
	"github.com/everdesk/everdesk/wire"
)

// rooKey is the beginning of the keys of profiles in the settings file of Roo-Code.
const rooKey = "providerProfiles.apiConfigs."

// parseRoo reads the settings file of Roo-Code. Unlike there, a bad value of globalSettings blocks nothing.
func (im *Import) parseRoo(fields map[string]json.RawMessage, have Have) error {
	im.Source = "Roo-Code"
	providers, ok := object(fields["providerProfiles"])
	if !ok {
		return fmt.Errorf("%w; its providerProfiles is no object", ErrFormat)
	}
	configs, ok := object(providers["apiConfigs"])
	if !ok {
		return fmt.Errorf("%w; its providerProfiles.apiConfigs is no object", ErrFormat)
	}
	ids := rooIDs{have: have, byName: map[string]string{}, byRooID: map[string]string{}}
	all := newRooModes(im, have)
	defer all.finish()
	for _, name := range slices.Sorted(maps.Keys(configs)) {
		im.rooProfile(name, configs[name], &ids)
	}
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		switch key {
		case "providerProfiles":
		case "globalSettings":
			im.rooGlobal(fields[key], all)
		default:
			im.addResult(key, Unknown, noSuchSetting)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(providers)) {
		switch key {
		case "apiConfigs":
		case "currentApiConfigName":
			im.rooCurrent(providers[key], &ids)
		case "modeApiConfigs":
			all.models("providerProfiles."+key, providers[key], ids.byRooID)
		default:
			im.addResult("providerProfiles."+key, Unknown, noSuchSetting)
		}
	}
	return nil
}

// rooCurrent makes the current profile the default of the main role; if it is not among those that were taken,
// the first of these.
func (im *Import) rooCurrent(value json.RawMessage, ids *rooIDs) {
	const key = "providerProfiles.currentApiConfigName"
	name, ok := text(value)
	id := ids.byName[name]
	if !ok || id == "" {
		if len(ids.taken) == 0 {
			im.addResult(key, Refused, "there is no such profile in the file that can be taken")
			return
		}
		id = ids.taken[0]
		im.addResult(key, Refused, "there is no such profile in the file that can be taken; %s becomes the default instead", id)
	}
	im.Items = append(im.Items, Item{Kind: KindRole, Key: key, Name: string(profiles.RoleMain), Profile: id})
}

// rooIDs finds ids for profiles, which have only names in the file.
type rooIDs struct {
	have   Have
	byName map[string]string
	// byRooID has the ids here by those in the file.
	byRooID map[string]string
	taken   []string // in the order of the file
}

// find returns the id of the user's profile with a name, or a free id made from the name.
func (r *rooIDs) find(name string) string {
	for _, p := range r.have.Profiles {
		if p.Pinned == "" && p.Name == name {
			return p.ID
		}
	}
	slug := strings.Trim(strings.Map(func(c rune) rune {
		switch {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9', c == '.', c == '_':
			return c
		case c >= 'A' && c <= 'Z':
			return c - 'A' + 'a'
		}
		return '-'
	}, name), "-._")
	if slug == "" {
		slug = "profile"
	}
	slug = slug[:min(len(slug), 48)]
	id := slug
	for n := 2; r.isUsed(id); n++ {
		id = fmt.Sprintf("%s-%d", slug, n)
	}
	return id
}

func (r *rooIDs) isUsed(id string) bool {
	return id == "roles" || slices.Contains(r.have.Backends, id) || slices.Contains(r.taken, id) ||
		slices.ContainsFunc(r.have.Profiles, func(p profiles.Profile) bool { return p.ID == id })
}

// rooProfile reads one profile.
func (im *Import) rooProfile(name string, value json.RawMessage, ids *rooIDs) {
	key := rooKey + name
	fields, ok := object(value)
	if !ok {
		im.addResult(key, Refused, "want an object")
		return
	}
	provider, ok := text(fields["apiProvider"])
	if !ok {
		im.addResult(key, Refused, "apiProvider: want the name of a provider")
		return
	}
	known, ok := rooProviders()[provider]
	switch {
	case slices.Contains(rooRetired(), provider):
		im.addResult(key, Refused, "apiProvider: Roo-Code has retired this provider, and there is no backend for it here")
		return
	case !ok:
		im.addResult(key, Refused, "apiProvider: there is no backend for this provider here")
		return
	}
	r := rooReader{im: im, key: key, fields: fields, used: map[string]bool{"id": true, "apiProvider": true}}
	p := profiles.Profile{
		ID: ids.find(name), Name: strings.TrimSpace(name), Backend: known.backend,
		Model: r.text(known.model), BaseURL: known.address(r.text(known.url)), Effort: r.effort(),
	}
	r.modelInfo(&p)
	secret := r.text(known.key)
	if secret != "" {
		p.Secret = "roo-" + p.ID
	}
	if !im.addProfile(key, p) {
		return
	}
	ids.byName[strings.TrimSpace(name)] = p.ID
	ids.taken = append(ids.taken, p.ID)
	if theirs, ok := text(fields["id"]); ok && theirs != "" {
		ids.byRooID[theirs] = p.ID
	}
	if secret != "" {
		im.Items = append(im.Items, Item{
			Kind: KindSecret, Key: key + "." + known.key, Name: p.Secret, Secret: secrets.NewValue(secret), Profile: p.ID,
		})
	}
	r.noteUnused()
}

// rooReader reads the fields of one profile.
type rooReader struct {
	im     *Import
	key    string
	fields map[string]json.RawMessage
	used   map[string]bool
}

// text returns a field that is a text, or "".
func (r *rooReader) text(field string) string {
	value, ok := r.fields[field]
	if !ok || field == "" {
		return ""
	}
	r.used[field] = true
	s, isText := text(value)
	if !isText && string(value) != "null" {
		r.im.addResult(r.key+"."+field, Refused, "want a text")
	}
	return s
}

// effort returns the reasoning effort.
func (r *rooReader) effort() string {
	const field = "reasoningEffort"
	effort := r.text(field)
	if string(r.fields["enableReasoningEffort"]) == "false" {
		r.used["enableReasoningEffort"] = true
		return ""
	}
	if effort != "" && !slices.Contains(profiles.Efforts(), effort) {
		r.im.addResult(r.key+"."+field, Refused, "want one of %s", strings.Join(profiles.Efforts(), ", "))
		return ""
	}
	return effort
}

// modelInfo reads the context window and the prices that the user has entered.
func (r *rooReader) modelInfo(p *profiles.Profile) {
	const field = "openAiCustomModelInfo"
	value, ok := r.fields[field]
	if !ok {
		return
	}
	r.used[field] = true
	info, ok := object(value)
	if !ok {
		if string(value) != "null" {
			r.im.addResult(r.key+"."+field, Refused, "want an object")
		}
		return
	}
	number := func(name string) *float64 {
		var n *float64
		if raw, ok := info[name]; ok && json.Unmarshal(raw, &n) != nil {
			r.im.addResult(r.key+"."+field+"."+name, Refused, "want a number")
			return nil
		}
		return n
	}
	if n := number("contextWindow"); n != nil && *n > 0 && *n <= 100_000_000 {
		p.ContextWindow = int(*n)
	}
	prices := profiles.Prices{
		Input: number("inputPrice"), Output: number("outputPrice"),
		CacheRead: number("cacheReadsPrice"), CacheWrite: number("cacheWritesPrice"), Currency: profiles.USD,
	}
	if prices.Input != nil && prices.Output != nil && (*prices.Input > 0 || *prices.Output > 0) { // zeros are a default
		p.Prices = &prices
	}
}

// noteUnused notes the fields that nothing has read.
func (r *rooReader) noteUnused() {
	for _, field := range slices.Sorted(maps.Keys(r.fields)) {
		switch {
		case r.used[field] || string(r.fields[field]) == "null":
		case rooIsSecret(field):
			r.im.addResult(r.key+"."+field, Refused, "it is the key of another provider than that of the profile")
		default:
			r.im.addResult(r.key+"."+field, Unknown, noSuchSetting)
		}
	}
}

// rooGlobal reads globalSettings, each key on its own.
func (im *Import) rooGlobal(value json.RawMessage, all *rooModes) {
	const prefix = "globalSettings."
	fields, ok := object(value)
	if !ok {
		im.addResult("globalSettings", Refused, "want an object")
		return
	}
	approval := Item{Kind: KindApproval, Key: "globalSettings"}
	isRule := approvalKeys()
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		v := fields[name]
		switch {
		case isRule[name]:
			if err := setRule(&approval.Approval, name, v); err != nil {
				im.addResult(prefix+name, Refused, "%v", err)
				continue
			}
			approval.Keys = append(approval.Keys, prefix+name)
		case rooIsSecret(name):
			secret, ok := text(v)
			if !ok || secret == "" {
				im.addResult(prefix+name, Refused, "want a text")
				continue
			}
			im.Items = append(im.Items, Item{Kind: KindSecret, Key: prefix + name, Name: "roo-" + name, Secret: secrets.NewValue(secret)})
		case name == "customModes":
			all.custom(prefix+name, v)
		case name == "language" || name == "customInstructions":
			im.Items = append(im.Items, Item{Kind: KindSetting, Key: prefix + name, Name: name, Value: v})
		default:
			im.addResult(prefix+name, Unknown, noSuchSetting)
		}
	}
	if len(approval.Keys) > 0 {
		im.Items = append(im.Items, approval)
	}
}

// approvalKeys returns the names of the auto-approval rules, which have the same names and meaning here.
func approvalKeys() map[string]bool {
	return map[string]bool{
		"autoApprovalEnabled": true, "alwaysAllowReadOnly": true, "alwaysAllowReadOnlyOutsideWorkspace": true, "alwaysAllowWrite": true,
		"alwaysAllowWriteOutsideWorkspace": true, "alwaysAllowWriteProtected": true, "alwaysAllowExecute": true, "allowedCommands": true,
		"deniedCommands": true, "alwaysAllowMcp": true, "alwaysAllowModeSwitch": true, "alwaysAllowSubtasks": true,
		"alwaysAllowFollowupQuestions": true, "followupAutoApproveTimeoutMs": true, "allowedMaxRequests": true, "allowedMaxCost": true,
	}
}

// maxRules and maxRule bound the lists of commands and the characters of one.
const (
	maxRules = 500
	maxRule  = 1000
)

// setRule sets one auto-approval rule. Null means that there is none, as for a limit.
func setRule(rules *wire.AutoApproval, name string, value json.RawMessage) error {
	changed := *rules
	data, err := json.Marshal(map[string]json.RawMessage{name: value})
	if err != nil {
		return errors.New("want a JSON value")
	}
	if json.Unmarshal(data, &changed) != nil { // the cause names Go types
		return errors.New("it has another type than the rule")
	}
	for _, list := range [][]string{changed.AllowedCommands, changed.DeniedCommands, changed.AllowedMcpTools} {
		if len(list) > maxRules || slices.ContainsFunc(list, func(s string) bool { return s == "" || len(s) > maxRule }) {
			return fmt.Errorf("want at most %d commands of 1 to %d bytes", maxRules, maxRule)
		}
	}
	if changed.FollowupAutoApproveTimeoutMs < 0 || changed.FollowupAutoApproveTimeoutMs > 86_400_000 || changed.AllowedMaxRequests < 0 || changed.AllowedMaxCost < 0 {
		return errors.New("it is out of range")
	}
	*rules = changed
	return nil
}
