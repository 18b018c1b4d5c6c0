package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"strconv"
	"strings"

	"github.com/everdesk/everdesk/settings"
)

// settingsGuide is the part of the section on settings that is written by hand.
//
//go:embed settings.md
var settingsGuide string

// secretsGuide is the part of the section on secrets that is written by hand.
//
//go:embed secrets.md
var secretsGuide string

// profilesGuide is the section on model profiles.
//
//go:embed profiles.md
var profilesGuide string

// modesGuide is the section on modes and custom instructions.
//
//go:embed modes.md
var modesGuide string

// settingsTable describes the settings of the catalogue.
func settingsTable(b *bytes.Buffer) {
	b.WriteString("\n" + settingsGuide)
	b.WriteString("\n| name | type | default | scope | changed by | |\n| --- | --- | --- | --- | --- | --- |\n")
	for _, s := range settings.Catalogue() {
		if s.Secret {
			continue
		}
		fmt.Fprintf(b, "| `%s` | %s | `%s` | %s | %s | %s |\n", s.Name, settingType(s), s.Default, s.Scope, s.ChangedBy, s.Doc)
	}
}

// secretsTable describes the secrets of the catalogue.
func secretsTable(b *bytes.Buffer) {
	b.WriteString("\n" + secretsGuide)
	b.WriteString("\n| name | scope | changed by | |\n| --- | --- | --- | --- |\n")
	for _, s := range settings.Catalogue() {
		if s.Secret {
			fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", s.Name, s.Scope, s.ChangedBy, s.Doc)
		}
	}
}

// settingType describes the values of a setting.
func settingType(s settings.Setting) string {
	bound := func(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }
	span := bound(s.Min) + " to " + bound(s.Max)
	switch s.Type {
	case settings.TypeInt, settings.TypeNumber:
		return string(s.Type) + " from " + span
	case settings.TypeText:
		return "text of " + span + " characters"
	case settings.TypeList:
		return "list of " + span + " texts"
	case settings.TypeChoice:
		return "one of " + strings.Join(s.Choices, ", ")
	}
	return string(s.Type)
}
