package settings

import (
	"context"
	"encoding/json"
)

// Source is where a value comes from: a scope, the default or the operator.
type Source string

// The sources besides the scopes.
const (
	FromDefault Source = "default"
	FromPin     Source = "pinned"
)

// State is a setting with its effective value.
type State struct {
	Setting Setting
	Value   json.RawMessage
	Source  Source
	// Pinned names where the operator has set the value, if the source is FromPin.
	Pinned string
	// Invalid is the narrowest stored value that is not valid and therefore not used, or nil.
	Invalid *Refusal
}

// Values are the effective values for a subject, in the order of the catalogue, without secrets.
type Values []State

// Read returns the effective values for a subject. Those of its scope and of the wider ones count.
func (s *Store) Read(ctx context.Context, of Subject) (Values, error) {
	all, err := s.layers(ctx, of)
	if err != nil {
		return nil, err
	}
	return s.values(all), nil
}

// values returns the effective values of layers, which are ordered from the widest.
func (s *Store) values(all []layer) Values {
	values := make(Values, 0, len(s.catalogue))
	for _, setting := range s.catalogue {
		if !setting.Secret {
			values = append(values, s.state(setting, all))
		}
	}
	return values
}

func (s *Store) state(setting Setting, all []layer) State {
	state := State{Setting: setting, Value: json.RawMessage(setting.Default), Source: FromDefault}
	for _, l := range all {
		value, ok := l.values[setting.Name]
		if !ok || !l.place.holds(setting) {
			continue
		}
		if value, refusal := setting.Check(value); refusal != nil {
			state.Invalid = refusal
		} else {
			state.Value, state.Source, state.Invalid = value, Source(l.place.scope), nil
		}
	}
	if pin, ok := s.pins[setting.Name]; ok {
		state.Value, state.Source, state.Pinned = pin.Value, FromPin, pin.Where
	}
	return state
}

// allows reports whether the setting may have a value in a scope.
func (s Setting) allows(scope Scope) bool {
	for _, wide := range scopes() {
		if wide == scope {
			return true
		}
		if wide == s.Scope {
			return false
		}
	}
	return false
}

// find returns the state of a setting, or false.
func (v Values) find(name string) (State, bool) {
	for _, s := range v {
		if s.Setting.Name == name {
			return s, true
		}
	}
	return State{}, false
}

// Text returns the value of a text or a choice, or "" if there is no such setting.
func (v Values) Text(name string) string { return valueOf[string](v, name) }

// Bool returns the value of a boolean, or false if there is no such setting.
func (v Values) Bool(name string) bool { return valueOf[bool](v, name) }

func valueOf[T any](v Values, name string) T {
	var value T
	if s, ok := v.find(name); ok {
		_ = json.Unmarshal(s.Value, &value) // values are checked; one of another type counts as zero
	}
	return value
}
