package tools

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/everdesk/everdesk/desktop"
	"github.com/everdesk/everdesk/providers"
)

// Env gives agents variables of the hub's environment.
type Env struct {
	// Names are the variables that the operator lists. A name that ends with * stands for all
	// variables that begin so, except those whose names suggest a secret.
	Names []string
	// Lookup returns the value of a variable; [os.LookupEnv] is one.
	Lookup func(name string) (value string, ok bool)
}

// ParseEnvNames reads a list of names with commas.
func ParseEnvNames(list string) ([]string, error) {
	var names []string
	for name := range strings.SplitSeq(list, ",") {
		if name = strings.TrimSpace(name); name == "" {
			continue
		}
		if !envName.MatchString(strings.TrimSuffix(name, "*")) {
			return nil, fmt.Errorf("%q is no name of an environment variable, such as TZ or APP_*", name)
		}
		names = append(names, name)
	}
	return names, nil
}

// Names of environment variables, and those that probably hold a secret.
var (
	envName    = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	secretName = regexp.MustCompile(`(?i)key|secret|password|token|auth|credential|private|api`)
)

func envTools() []tool {
	return []tool{{
		name: "system:get_env_var", in: []string{ProfileMain, ProfileAll, ProfileDefault, ProfileCode}, parallel: true, repeatable: true, use: with(getEnvVar),
		about: "Read an environment variable of the hub. Only those that its operator has listed can be read.",
	}}
}

type envInput struct {
	Name string `json:"name" jsonschema:"Such as TZ." wire:"min=1,max=200"`
}

// value returns the value of a variable that agents may read. The errors begin with a code, so that
// programs can tell a variable that is not set from one that agents may not read.
func (e Env) value(name string) (string, error) {
	listed := slices.Contains(e.Names, name)
	if !listed && !slices.ContainsFunc(e.Names, func(n string) bool {
		begin, some := strings.CutSuffix(n, "*")
		return some && strings.HasPrefix(name, begin)
	}) {
		return "", fmt.Errorf("FORBIDDEN: the operator does not let agents read %q; --env-vars lists what they may read", name)
	}
	if !listed && secretName.MatchString(name) {
		return "", fmt.Errorf("FORBIDDEN: the name %q suggests a secret; the operator has to list exactly this name in --env-vars", name)
	}
	value, ok := e.Lookup(name)
	if !ok {
		return "", fmt.Errorf("NOT_FOUND: the variable %q is not set", name)
	}
	return value, nil
}

func getEnvVar(ctx context.Context, u *use, in envInput) providers.ToolResult {
	r := text("")
	if value, err := u.cfg.Env.value(in.Name); err != nil {
		r = fail(sentence(err.Error()))
	} else {
		r.Text = value
	}
	return u.act(ctx, func(*desktop.State) Plan { return Plan{Result: r} })
}
