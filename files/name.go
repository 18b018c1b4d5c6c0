package files

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// ErrName is matched by every refusal of a name.
var ErrName = errors.New("invalid file name")

// The bounds of names.
const (
	maxSegment = 255 // bytes; the limit of file systems
	maxPath    = 1024
	maxDepth   = 16
)

// partial is the folder of unfinished uploads in a session's folder. The name is reserved.
const partial = ".partial"

// CheckName refuses names that are unsafe on some system: absolute names, names with "." or
// ".." segments, control characters or backslashes, and drives and devices of Windows.
// Segments are separated by slashes on all systems.
func CheckName(name string) error {
	switch {
	case name == "":
		return fmt.Errorf("%w: it is empty", ErrName)
	case len(name) > maxPath:
		return fmt.Errorf("%w: it has %d bytes, at most %d are allowed", ErrName, len(name), maxPath)
	case !utf8.ValidString(name):
		return fmt.Errorf("%w: it is not UTF-8", ErrName)
	case strings.ContainsFunc(name, unicode.IsControl):
		return fmt.Errorf("%w: it has a control character", ErrName)
	case strings.Contains(name, `\`):
		return fmt.Errorf("%w: it has a backslash", ErrName)
	case name[0] == '/':
		return fmt.Errorf("%w: it is absolute", ErrName)
	case strings.Count(name, "/") >= maxDepth:
		return fmt.Errorf("%w: more than %d folders", ErrName, maxDepth-1)
	}
	for segment := range strings.SplitSeq(name, "/") {
		if err := checkSegment(segment); err != nil {
			return err
		}
	}
	return nil
}

// agentSettings are the names, in the folder of a session, from which agents that are programs read settings, and gitFolder is that
// of git in any folder. All of these can name programs to start. Agents work in the folder.
var agentSettings = []string{".claude", ".codex", ".mcp.json"}

const gitFolder = ".git"

// AgentSettings returns the names in the folder of a session from which agents that are programs read settings, in any case.
func AgentSettings() []string { return slices.Clone(agentSettings) }

// CheckNewName refuses what [CheckName] refuses, and names of settings of agents and of git: who may write files must not have
// programs started.
func CheckNewName(name string) error {
	if err := CheckName(name); err != nil {
		return err
	}
	segments := strings.Split(name, "/")
	// Some file systems ignore case.
	if slices.ContainsFunc(agentSettings, func(s string) bool { return strings.EqualFold(s, segments[0]) }) {
		return fmt.Errorf("%w: %q is for settings of agents", ErrName, segments[0])
	}
	if slices.ContainsFunc(segments, func(s string) bool { return strings.EqualFold(s, gitFolder) }) {
		return fmt.Errorf("%w: %q is for git", ErrName, gitFolder)
	}
	return nil
}

func checkSegment(s string) error {
	switch {
	case s == "" || s == "." || s == "..":
		return fmt.Errorf("%w: segment %q is not allowed", ErrName, s)
	case s == partial:
		return fmt.Errorf("%w: %q is reserved", ErrName, s)
	case len(s) > maxSegment:
		return fmt.Errorf("%w: a part has %d bytes, at most %d are allowed", ErrName, len(s), maxSegment)
	case len(s) > 1 && s[1] == ':':
		return fmt.Errorf("%w: %q begins with a drive", ErrName, s)
	case isDevice(s):
		return fmt.Errorf("%w: %q is a device", ErrName, s)
	}
	return nil
}

// isDevice reports whether Windows treats the name as a device, with any extension. The
// folder may be copied to such a system.
func isDevice(s string) bool {
	s, _, _ = strings.Cut(s, ".")
	s = strings.ToUpper(strings.TrimRight(s, " "))
	switch s {
	case "CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$":
		return true
	}
	port, ok := strings.CutPrefix(s, "COM")
	if !ok {
		port, ok = strings.CutPrefix(s, "LPT")
	}
	return ok && len(port) == 1 && port[0] >= '0' && port[0] <= '9'
}
