package tools_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/tools"
)

// environment has variables of a hub whose operator lists some of them.
func environment() tools.Env {
	values := map[string]string{
		"TZ": "Asia/Seoul", "APP_REGION": "kr", "APP_TOKEN": "hidden", "APP_monkey": "hidden", "MAPS_KEY": "for all", "HOME": "/root", "EMPTY": "",
	}
	return tools.Env{
		Names:  []string{"TZ", "APP_*", "MAPS_KEY", "EMPTY", "UNSET"},
		Lookup: func(name string) (string, bool) { value, ok := values[name]; return value, ok },
	}
}

func TestGetEnvVarReadsOnlyWhatTheOperatorLists(t *testing.T) {
	t.Parallel()
	b := setUp(t)
	for name, tt := range map[string]struct {
		want    string
		isError bool
	}{
		"TZ":         {"Asia/Seoul", false},
		"APP_REGION": {"kr", false},
		"MAPS_KEY":   {"for all", false},
		"EMPTY":      {"(nothing)", false},
		"APP_TOKEN":  {`FORBIDDEN: the name "APP_TOKEN" suggests a secret`, true},
		"APP_monkey": {"FORBIDDEN: the name", true},
		"HOME":       {`FORBIDDEN: the operator does not let agents read "HOME"`, true},
		"tz":         {"FORBIDDEN", true},
		"TZ ":        {"FORBIDDEN", true},
		"APP_*":      {"NOT_FOUND", true},
		"UNSET":      {`NOT_FOUND: the variable "UNSET" is not set`, true},
		"":           {"name", true},
	} {
		r := b.call("system_get_env_var", `{"name":`+string(quote(name))+`}`)
		if r.IsError != tt.isError || !strings.Contains(r.Text, tt.want) || strings.Contains(r.Text, "hidden") {
			t.Errorf("%q gives %q, error %v, want %q, error %v", name, r.Text, r.IsError, tt.want, tt.isError)
		}
	}
}

func TestNoEnvVarToolWithoutNames(t *testing.T) {
	t.Parallel()
	if got := names(tools.New(tools.Config{}), "main"); slices.Contains(got, "system_get_env_var") {
		t.Errorf("without names the tools are %q, want none for variables", got)
	}
}

func TestParseEnvNames(t *testing.T) {
	t.Parallel()
	for list, want := range map[string][]string{"": nil, " ": nil, "TZ, APP_* ,_x9,": {"TZ", "APP_*", "_x9"}} {
		if got, err := tools.ParseEnvNames(list); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q gives %q, %v, want %q", list, got, err, want)
		}
	}
	for _, list := range []string{"*", "A B", "A=1", "9A", "A**", "A,é", "*A"} {
		if got, err := tools.ParseEnvNames(list); err == nil {
			t.Errorf("%q gives %q, want an error", list, got)
		}
	}
}
