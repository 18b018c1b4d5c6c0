package files

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// ErrName is matched by every refusal of a name.
var ErrName = errors.New("not a name for a file")

// The longest names.
const (
	maxSegment = 255 // bytes, what file systems take
	maxPath    = 1024
	maxDepth   = 16
)

// partial is where files are while they are written. Nobody else may use it.
const partial = ".partial"

// CheckName refuses names that would mean something else somewhere: absolute
// ones, those with dots that lead upwards, with control characters, or with the
// drives and devices of Windows. Names are separated by slashes everywhere.
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

func checkSegment(s string) error {
	switch {
	case s == "" || s == "." || s == "..":
		return fmt.Errorf("%w: %q leads elsewhere", ErrName, s)
	case s == partial:
		return fmt.Errorf("%w: %q is taken", ErrName, s)
	case len(s) > maxSegment:
		return fmt.Errorf("%w: a part has %d bytes, at most %d are allowed", ErrName, len(s), maxSegment)
	case len(s) > 1 && s[1] == ':':
		return fmt.Errorf("%w: %q begins with a drive", ErrName, s)
	case isDevice(s):
		return fmt.Errorf("%w: %q is a device", ErrName, s)
	}
	return nil
}

// isDevice knows what Windows takes for a device, with whatever extension. A
// folder that is copied there must not surprise anybody.
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
