package mcpclient

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"
)

// maxEnvFile bounds a file of variables in bytes.
const maxEnvFile = 256 << 10

// addEnvFile adds the variables of the file that an entry names to its environment. Variables of the entry itself
// take precedence. It returns the values that were added.
func (s *Server) addEnvFile() ([]string, error) {
	if s.EnvFile == "" {
		return nil, nil
	}
	vars, err := readEnvFile(s.EnvFile)
	if err != nil {
		return nil, fmt.Errorf("envFile: %w", err)
	}
	var values []string
	env := maps.Clone(s.Env)
	if env == nil {
		env = map[string]string{}
	}
	for name, value := range vars {
		if _, declared := env[name]; !declared {
			env[name] = value
			values = append(values, value)
		}
	}
	s.Env = env
	return values, nil
}

// readEnvFile reads a file with a line NAME=value for each variable.
func readEnvFile(path string) (map[string]string, error) {
	if !filepath.IsAbs(path) {
		return nil, fmt.Errorf("%s: want an absolute path", shorten(path))
	}
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: there is no such file", shorten(path))
	}
	f, err := os.Open(path) //nolint:gosec // the operator names it
	if err != nil {
		return nil, fmt.Errorf("%s: it cannot be opened", shorten(path))
	}
	defer func() { _ = f.Close() }() // opened for reading only
	data, err := io.ReadAll(io.LimitReader(f, maxEnvFile+1))
	if err != nil || len(data) > maxEnvFile {
		return nil, fmt.Errorf("%s: it cannot be read or has more than %d bytes", shorten(path), maxEnvFile)
	}
	vars, err := parseEnvFile(string(data))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", shorten(path), err)
	}
	return vars, nil
}

// parseEnvFile reads lines NAME=value. Empty lines and those that begin with # are left out, and so is export before a
// name. A value in quotes ends with them; in double quotes \n, \" and \\ are read. Other values end with the line, or
// with a # after a blank. Errors do not contain the line, which may hold a secret.
func parseEnvFile(text string) (map[string]string, error) {
	vars := map[string]string{}
	number := 0
	for line := range strings.Lines(strings.TrimPrefix(text, "\ufeff")) {
		number++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		name, value, found := strings.Cut(strings.TrimPrefix(line, "export "), "=")
		name = strings.TrimSpace(name)
		value, err := envValue(strings.TrimSpace(value))
		if !found || hasOddName(map[string]string{name: ""}) || err != nil || !isTexts([]string{name, value}) {
			return nil, fmt.Errorf("line %d: want NAME=value", number)
		}
		vars[name] = value
		if len(vars) > maxItems {
			return nil, fmt.Errorf("there are more than %d variables", maxItems)
		}
	}
	return vars, nil
}

var errQuotes = errors.New("the quotes do not end")

// envValue returns a value without its quotes or the comment after it.
func envValue(text string) (string, error) {
	if text == "" {
		return "", nil
	}
	quote := text[0]
	if quote != '"' && quote != '\'' {
		if i := strings.Index(text, " #"); i >= 0 {
			text = strings.TrimSpace(text[:i])
		}
		return text, nil
	}
	var out strings.Builder
	for i := 1; i < len(text); i++ {
		c := text[i]
		switch {
		case c == quote:
			if rest := strings.TrimSpace(text[i+1:]); rest != "" && rest[0] != '#' {
				return "", errQuotes
			}
			return out.String(), nil
		case c == '\\' && quote == '"' && i+1 < len(text):
			i++
			if c = text[i]; c == 'n' {
				c = '\n'
			}
		}
		out.WriteByte(c)
	}
	return "", errQuotes
}
