package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/everdesk/everdesk/secrets"
)

// variables matches ${…} in the texts of an entry. A $ without braces stays as it is.
var variables = regexp.MustCompile(`\$\{([^{}]*)\}`)

// MissingError means that an entry refers to a value that is not there.
type MissingError struct {
	// Variable is the reference without ${ and }, and Secret the name of the secret that it needs, if it is one.
	Variable, Secret string
	Reason           string
}

// Error implements error.
func (e *MissingError) Error() string { return fmt.Sprintf("${%s}: %s", e.Variable, e.Reason) }

// Secrets reads secrets; [secrets.Store] implements it.
type Secrets interface {
	// Reveal returns a secret. The error is [secrets.ErrNotSet], [secrets.ErrUnreadable] or that of the store.
	Reveal(ctx context.Context, of secrets.Owner, name string) (secrets.Value, error)
}

// expander replaces variables in the texts of an entry.
type expander struct {
	secrets Secrets
	owner   secrets.Owner
	// env and home are the environment and the home directory of the hub, for entries of the operator;
	// nil and "" for those of users.
	env  func(string) (string, bool)
	home string

	// used are the values of secrets that were inserted.
	used []string
}

// expand returns an entry without variables. Its errors name the field.
func (e *expander) expand(ctx context.Context, s Server) (Server, error) {
	var err error
	out := s.mapTexts(func(field, text string) string {
		return variables.ReplaceAllStringFunc(text, func(match string) string {
			value, failed := e.value(ctx, match[2:len(match)-1])
			if failed != nil {
				err = errors.Join(err, fmt.Errorf("%s: %w", field, failed))
			}
			return value
		})
	})
	return out, err
}

// mapTexts returns an entry with each text that may contain variables replaced by what f returns for the name of its
// field and the text.
func (s *Server) mapTexts(f func(field, text string) string) Server {
	out := *s
	out.Command, out.Cwd, out.EnvFile, out.URL = f("command", s.Command), f("cwd", s.Cwd), f("envFile", s.EnvFile), f("url", s.URL)
	out.Args = slices.Clone(s.Args)
	for i := range out.Args {
		out.Args[i] = f("args", out.Args[i])
	}
	out.Env, out.Headers = maps.Clone(s.Env), maps.Clone(s.Headers)
	for _, name := range slices.Sorted(maps.Keys(out.Env)) {
		out.Env[name] = f("env."+name, out.Env[name])
	}
	for _, name := range slices.Sorted(maps.Keys(out.Headers)) {
		out.Headers[name] = f("headers."+name, out.Headers[name])
	}
	return out
}

// editorVariables are the names, or what is before their colon, of variables that only an editor has values for.
var editorVariables = []string{"workspaceFolder", "workspaceFolderBasename", "workspaceRoot", "file", "fileDirname", "fileWorkspaceFolder", "cwd", "config", "command"}

// checkVariables returns a [*FieldError] for the first variable that only an editor has a value for, or nil.
func (s *Server) checkVariables() error {
	var err error
	s.mapTexts(func(field, text string) string {
		for _, m := range variables.FindAllStringSubmatch(text, -1) {
			name, _, hasDefault := strings.Cut(m[1], ":-")
			kind, _, _ := strings.Cut(name, ":")
			if err == nil && slices.Contains(editorVariables, kind) && !hasDefault {
				err = wrong(s.Name+"."+field, "only an editor has a value for ${%s}; write what you mean, such as the path of the folder", shorten(name))
			}
		}
		return text
	})
	return err
}

// secretName returns the name of the secret that a variable stands for, if it does.
func secretName(variable string) (string, bool) {
	name, _, _ := strings.Cut(variable, ":-")
	kind, name, found := strings.Cut(name, ":")
	return name, found && (kind == "secret" || kind == "input")
}

// value returns the value of a variable.
func (e *expander) value(ctx context.Context, variable string) (string, error) {
	name, byDefault, hasDefault := strings.Cut(variable, ":-")
	kind, rest, isKind := strings.Cut(name, ":")
	missing := func(reason string) (string, error) {
		if hasDefault {
			return byDefault, nil
		}
		return "", &MissingError{Variable: shorten(variable), Reason: reason}
	}
	switch {
	case isKind && (kind == "secret" || kind == "input"):
		v, err := e.secrets.Reveal(ctx, e.owner, rest)
		switch {
		case errors.Is(err, secrets.ErrNotSet) && hasDefault:
			return byDefault, nil
		case errors.Is(err, secrets.ErrNotSet), errors.Is(err, secrets.ErrUnreadable):
			return "", &MissingError{Variable: shorten(variable), Secret: shorten(rest), Reason: err.Error()}
		case err != nil:
			return "", err
		}
		e.used = append(e.used, v.Reveal())
		return v.Reveal(), nil
	case isKind && kind != "env":
		return missing("there are only secret, input and env")
	case isKind:
		name = rest
	case name == "userHome" && e.home != "":
		return e.home, nil
	case name == "/" || name == "pathSeparator":
		return "/", nil
	}
	if e.env == nil {
		return missing("the environment of the hub is not for servers of users; use ${secret:NAME}")
	}
	if v, ok := e.env(name); ok {
		return v, nil
	}
	return missing("the variable is not set")
}

// expandEnv replaces those variables of a text that have a value in the environment or a default. Secrets stay: they may
// be those of a user.
func expandEnv(text string, env func(string) (string, bool)) string {
	e := &expander{env: env}
	return variables.ReplaceAllStringFunc(text, func(match string) string {
		variable := match[2 : len(match)-1]
		if _, isSecret := secretName(variable); isSecret {
			return match
		}
		value, err := e.value(context.Background(), variable)
		if err != nil {
			return match
		}
		return value
	})
}
