package wire

import (
	"reflect"
	"slices"
	"strings"
)

// numberedPrefix begins the names of the monitors that have a number.
const numberedPrefix = "monitor-"

// maxMonitorDigits bounds the digits of a monitor's number, so that its name is a valid id.
const maxMonitorDigits = 9

// IsMonitorNumber reports whether a monitor has the name that newer desktops written
// for YAAR give it: a decimal number without leading zeros.
func IsMonitorNumber(id MonitorID) bool {
	if id == "" || len(id) > maxMonitorDigits || len(id) > 1 && id[0] == '0' {
		return false
	}
	return strings.Trim(string(id), "0123456789") == ""
}

// NamedMonitor returns the name of a monitor given by its number, such as monitor-0 for 0,
// and any other id unchanged.
func NamedMonitor(id MonitorID) MonitorID {
	if IsMonitorNumber(id) {
		return numberedPrefix + id
	}
	return id
}

// numberedMonitor is the inverse of [NamedMonitor].
func numberedMonitor(id MonitorID) MonitorID {
	if number, ok := strings.CutPrefix(string(id), numberedPrefix); ok && IsMonitorNumber(MonitorID(number)) {
		return MonitorID(number)
	}
	return id
}

// The fields that numbering changes. All payloads and actions use these names.
const (
	monitorField = "MonitorID"
	windowField  = "WindowID"
)

// numbered converts a payload for a desktop of [Desktop.Numbered]: it replaces the name of
// its monitor by the number and scopes its window ids by that. The argument is not changed.
func numbered(payload any) any {
	v := reflect.New(reflect.TypeOf(payload)).Elem()
	v.Set(reflect.ValueOf(payload))
	field := v.FieldByName(monitorField)
	if !field.IsValid() {
		return payload
	}
	monitor := MonitorID(field.String())
	field.SetString(string(numberedMonitor(monitor)))
	scopeWindow(v, monitor)
	if p, ok := reflect.TypeAssert[Actions](v); ok {
		actions := make([]Action, len(p.Actions))
		for i, a := range p.Actions {
			w := reflect.New(reflect.TypeOf(a)).Elem()
			w.Set(reflect.ValueOf(a))
			scopeWindow(w, monitor)
			actions[i], _ = reflect.TypeAssert[Action](w)
		}
		p.Actions = actions
		return p
	}
	return v.Interface()
}

// scopeWindow prefixes the window id in v, if there is one, with the number of a monitor.
// An id that already has the name of a monitor as a prefix, as in monitor-1/notes, gets the
// number of that monitor instead.
func scopeWindow(v reflect.Value, monitor MonitorID) {
	field := v.FieldByName(windowField)
	if !field.IsValid() || field.Len() == 0 {
		return
	}
	id := field.String()
	if scope, raw, ok := strings.Cut(id, "/"); ok && numberedMonitor(MonitorID(scope)) != MonitorID(scope) {
		monitor, id = MonitorID(scope), raw
	}
	if monitor != "" {
		field.SetString(string(numberedMonitor(monitor)) + "/" + id)
	}
}

// named is the inverse of numbered for the payload of a client. If the payload names no
// monitor, it gets the one that scopes its window, or all its interactions.
func named(payload ClientPayload) ClientPayload {
	v := reflect.New(reflect.TypeOf(payload)).Elem()
	v.Set(reflect.ValueOf(payload))
	monitor := v.FieldByName(monitorField)
	if !monitor.IsValid() {
		return payload
	}
	scope := unscopeWindow(v)
	switch p := payload.(type) {
	case UserInteractions:
		p.Interactions, scope = unscopeInteractions(p.Interactions)
		v.Set(reflect.ValueOf(p))
	case UserMessage:
		p.Interactions, _ = unscopeInteractions(p.Interactions) // they do not say where the message goes
		v.Set(reflect.ValueOf(p))
	}
	if monitor.Len() == 0 {
		monitor.SetString(string(scope))
	}
	monitor.SetString(string(NamedMonitor(MonitorID(monitor.String()))))
	p, _ := reflect.TypeAssert[ClientPayload](v)
	return p
}

// unscopeInteractions returns copies of interactions with unscoped windows, and the number of
// the monitor that all of them are on, or "".
func unscopeInteractions(list []UserInteraction) ([]UserInteraction, MonitorID) {
	var scope MonitorID
	list = slices.Clone(list)
	for i := range list {
		on := unscopeWindow(reflect.ValueOf(&list[i]).Elem())
		if i > 0 && on != scope {
			on = ""
		}
		scope = on
	}
	return list, scope
}

// unscopeWindow removes the number of a monitor from the window id in v, and returns
// that number, or "".
func unscopeWindow(v reflect.Value) MonitorID {
	field := v.FieldByName(windowField)
	if !field.IsValid() {
		return ""
	}
	scope, raw, ok := strings.Cut(field.String(), "/")
	if !ok || raw == "" || !IsMonitorNumber(MonitorID(scope)) {
		return ""
	}
	field.SetString(raw)
	return MonitorID(scope)
}
