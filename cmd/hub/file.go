package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	// Chosen over goccy/go-yaml for its size and for nodes with line numbers;
	// the YAML organisation itself maintains it.
	"go.yaml.in/yaml/v3"

	"github.com/everdesk/everdesk/cmd/hub/internal/command"
)

// readFile reads a settings file: one flat mapping from names to values.
func readFile(path string, wrong *command.UsageErrors) found {
	values := found{}
	where := func(line int) string { return fmt.Sprintf("file %s:%d", path, line) }
	text, err := os.ReadFile(path) //nolint:gosec // the operator's own file
	if err != nil {
		wrong.Add("config: %v", err)
		return values
	}
	in := yaml.NewDecoder(bytes.NewReader(text))
	var doc, second yaml.Node
	err = in.Decode(&doc)
	if errors.Is(err, io.EOF) {
		return values // an empty file sets nothing
	}
	if err == nil {
		err = in.Decode(&second)
	}
	if !errors.Is(err, io.EOF) {
		wrong.Add("file %s: %s", path, notOneDocument(err))
		return values
	}
	root := doc.Content[0]
	if isNull(root) {
		return values
	}
	if root.Kind != yaml.MappingNode {
		wrong.Add("%s: want settings, as in addr: 127.0.0.1:8080", where(root.Line))
		return values
	}
	all := allSettings()
	for pair := range slices.Chunk(root.Content, 2) {
		key, val := pair[0], pair[1]
		i := slices.IndexFunc(all, func(s setting) bool { return s.name == key.Value })
		_, twice := values[key.Value]
		switch {
		case i < 0:
			wrong.Add("%s: no such setting: %s", where(key.Line), key.Value)
		case all[i].outside:
			wrong.Add("%s (%s): only as %s or %s", key.Value, where(key.Line), all[i].flag(), all[i].variable())
		case twice:
			wrong.Add("%s (%s): set twice, first in %s", key.Value, where(key.Line), values[key.Value].where)
		case val.Kind != yaml.ScalarNode || isNull(val):
			wrong.Add("%s (%s): want one value", key.Value, where(key.Line))
		default:
			values[key.Value] = value{val.Value, where(val.Line)}
		}
	}
	return values
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }

// notOneDocument describes why a file is not a single YAML document.
func notOneDocument(err error) string {
	if err == nil {
		return "want one document, found a second"
	}
	return "not YAML: " + strings.TrimPrefix(err.Error(), "yaml: ")
}
