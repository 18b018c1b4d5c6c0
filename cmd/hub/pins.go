package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/everdesk/everdesk/settings"
)

// openSettings returns the settings of users, with the values that the operator has pinned.
func openSettings(cfg config, p process, docs settings.Documents) (*settings.Store, error) {
	pins, err := readPins(cfg.pinned)
	if err != nil {
		return nil, err
	}
	for _, k := range cfg.agents.keys() {
		if k.model.key != "" {
			pins = append(pins, settings.Pin{Name: k.secret, Where: "flag --" + k.flag + " or its variable"})
		}
	}
	return settings.New(docs, settings.Config{Catalogue: settings.Catalogue(), Pins: pins, Logger: p.log})
}

// readPins reads a file of pinned settings: one mapping from names to values.
func readPins(path string) ([]settings.Pin, error) {
	if path == "" {
		return nil, nil
	}
	text, err := os.ReadFile(path) //nolint:gosec // the operator's own file
	if err != nil {
		return nil, fmt.Errorf("pinned-settings: %w", err)
	}
	var values map[string]any
	if err := yaml.Unmarshal(text, &values); err != nil {
		return nil, fmt.Errorf("pinned-settings: file %s: want settings, as in language: ko", path)
	}
	var pins []settings.Pin
	for _, name := range slices.Sorted(maps.Keys(values)) {
		value, err := json.Marshal(values[name])
		if err != nil {
			return nil, fmt.Errorf("pinned-settings: file %s: %s has no JSON form", path, name)
		}
		pins = append(pins, settings.Pin{Name: name, Value: value, Where: "file " + path})
	}
	return pins, nil
}
