package settings_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/settings"
)

// text returns a JSON text of n characters.
func text(n int) string { return `"` + strings.Repeat("가", n) + `"` }

// cases holds valid and invalid values of every setting.
func cases() map[string]struct {
	valid   []string
	refused map[string]settings.Code
} {
	type c = struct {
		valid   []string
		refused map[string]settings.Code
	}
	texts := func(least, most int) c {
		r := c{
			valid: []string{text(max(least, 1)), text(most), ` "a" `},
			refused: map[string]settings.Code{
				text(most + 1): settings.CodeRange, `7`: settings.CodeType, `true`: settings.CodeType, `null`: settings.CodeType,
				`["a"]`: settings.CodeType, `{}`: settings.CodeType, ``: settings.CodeType, `"a`: settings.CodeType,
				`"\u0000"`: settings.CodeType,
			},
		}
		if least == 0 {
			r.valid = append(r.valid, `""`)
		} else {
			r.refused[`""`] = settings.CodeRange
		}
		return r
	}
	orders := texts(0, 16384)
	orders.valid = []string{text(5461), `"` + strings.Repeat("a", 16384) + `"`, `""`} // both 16 KiB at most
	delete(orders.refused, text(16385))
	orders.refused[text(5462)] = settings.CodeRange
	orders.refused[`"`+strings.Repeat("a", 16385)+`"`] = settings.CodeRange
	lists := c{
		valid: []string{`["a","b"]`, `[` + text(1000) + `]`, `[` + strings.Repeat(`"a",`, 49) + `"a"]`},
		refused: map[string]settings.Code{
			`[` + strings.Repeat(`"a",`, 50) + `"a"]`: settings.CodeRange, `[` + text(1001) + `]`: settings.CodeRange,
			`"a"`: settings.CodeType, `[1]`: settings.CodeType, `null`: settings.CodeType, `{}`: settings.CodeType, ``: settings.CodeType,
		},
	}
	return map[string]c{
		"customInstructions": orders, "tourSteps": lists, "pinnedApps": lists,
		"language": texts(1, 35), "userName": texts(0, 100), "wallpaper": texts(0, 2000), "accentColor": texts(0, 64), "iconSize": texts(0, 16),
		"onboardingCompleted": {
			valid:   []string{`true`, `false`, " true\n"},
			refused: map[string]settings.Code{`"true"`: settings.CodeType, `1`: settings.CodeType, `null`: settings.CodeType, `[]`: settings.CodeType, ``: settings.CodeType},
		},
	}
}

func TestEverySettingChecksItsValues(t *testing.T) {
	t.Parallel()
	all := cases()
	var names []string
	for _, s := range settings.Catalogue() {
		if s.Secret {
			continue
		}
		names = append(names, s.Name)
		want := all[s.Name]
		if len(want.valid) == 0 || len(want.refused) == 0 {
			t.Errorf("%s: no values to test with", s.Name)
		}
		for _, value := range append(want.valid, s.Default) {
			canonical, refusal := s.Check(json.RawMessage(value))
			if refusal != nil {
				t.Errorf("%s: %.40s is refused: %v", s.Name, value, refusal)
				continue
			}
			if again, refusal := s.Check(canonical); refusal != nil || string(again) != string(canonical) {
				t.Errorf("%s: the canonical form of %.40s is %.40s, of that %.40s", s.Name, value, canonical, again)
			}
		}
		for value, code := range want.refused {
			canonical, refusal := s.Check(json.RawMessage(value))
			if refusal == nil {
				t.Errorf("%s: %.40s is taken as %.40s, want code %s", s.Name, value, canonical, code)
			} else if refusal.Code != code || refusal.Name != s.Name || refusal.Detail == "" {
				t.Errorf("%s: %.40s is refused with %+v, want code %s", s.Name, value, refusal, code)
			}
		}
	}
	for name := range maps.Keys(all) {
		if !slices.Contains(names, name) {
			t.Errorf("there are values for %s, which is no setting", name)
		}
	}
}

func TestTheCatalogueIsComplete(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, s := range settings.Catalogue() {
		if seen[s.Name] || s.Name == "" {
			t.Errorf("the name %q is used twice or empty", s.Name)
		}
		seen[s.Name] = true
		if !strings.HasSuffix(s.Doc, ".") || s.Scope == "" || s.ChangedBy == "" || s.Type == "" || s.Max < s.Min {
			t.Errorf("%s is not fully declared: %+v", s.Name, s)
		}
	}
}

// allTypes declares one setting of each type.
func allTypes() []settings.Setting {
	user := func(s settings.Setting) settings.Setting {
		s.Scope, s.ChangedBy, s.Early = settings.ScopeUser, settings.ByUser, true
		return s
	}
	return []settings.Setting{
		user(settings.Setting{Name: "bool", Type: settings.TypeBool, Default: "false"}),
		user(settings.Setting{Name: "int", Type: settings.TypeInt, Min: 10, Max: 60, Default: "20"}),
		user(settings.Setting{Name: "number", Type: settings.TypeNumber, Min: -1, Max: 1.5, Default: "0"}),
		user(settings.Setting{Name: "text", Type: settings.TypeText, Max: 5, Default: `""`}),
		user(settings.Setting{Name: "choice", Type: settings.TypeChoice, Choices: []string{"low", "high"}, Default: `"low"`}),
		user(settings.Setting{Name: "list", Type: settings.TypeList, Max: 2, Default: "[]"}),
		{Name: "operators", Type: settings.TypeText, Max: 5, Default: `""`, Scope: settings.ScopeUser, ChangedBy: settings.ByAdmin},
		{Name: "hidden", Type: settings.TypeText, Max: 9, Default: "null", Secret: true, Scope: settings.ScopeUser, ChangedBy: settings.ByUser},
		{Name: "hubOnly", Type: settings.TypeInt, Max: 9, Default: "1", Scope: settings.ScopeHub, ChangedBy: settings.ByAdmin},
		{Name: "everywhere", Type: settings.TypeInt, Max: 9, Default: "0", Scope: settings.ScopeSession, ChangedBy: settings.ByUser},
	}
}

func TestTypes(t *testing.T) {
	t.Parallel()
	byName := map[string]settings.Setting{}
	for _, s := range allTypes() {
		byName[s.Name] = s
	}
	for _, c := range []struct{ name, value, want string }{ // want is the canonical value or the code
		{"int", "10", "10"},
		{"int", "60.0", "60"},
		{"int", "1.5e1", "15"},
		{"int", "9", "range"},
		{"int", "61", "range"},
		{"int", "10.5", "type"},
		{"int", `"20"`, "type"},
		{"int", "1e999", "range"},
		{"int", "-", "type"},
		{"number", "-1", "-1"},
		{"number", "-0", "0"},
		{"number", "1.5", "1.5"},
		{"number", "1.51", "range"},
		{"number", "NaN", "type"},
		{"number", "0x1", "type"},
		{"text", `"\u00e4"`, `"ä"`},
		{"text", `"가나다라마"`, `"가나다라마"`},
		{"text", "\"\xff\"", "type"},
		{"choice", `"high"`, `"high"`},
		{"choice", `"High"`, "choice"},
		{"choice", "1", "type"},
		{"list", `["a", "b"]`, `["a","b"]`},
		{"list", `[]`, `[]`},
		{"list", `["a","b","c"]`, "range"},
		{"list", `[""]`, "range"},
		{"list", `[1]`, "type"},
		{"list", `[null]`, "type"},
		{"list", `"a"`, "type"},
		{"list", `["` + strings.Repeat("x", 1001) + `"]`, "range"},
	} {
		got, refusal := byName[c.name].Check(json.RawMessage(c.value))
		if refusal != nil {
			got = json.RawMessage(refusal.Code)
		}
		if string(got) != c.want {
			t.Errorf("%s of %s: got %s, want %s", c.name, c.value, got, c.want)
		}
	}
}

// The JSON Schema is valid JSON and has each setting with its default.
func TestSchema(t *testing.T) {
	t.Parallel()
	var schema struct {
		Properties map[string]struct {
			Type    string
			Default json.RawMessage
			Minimum *float64
			Enum    []string
		}
	}
	if err := json.Unmarshal(settings.Schema(allTypes()), &schema); err != nil {
		t.Fatal(err)
	}
	for _, s := range allTypes() {
		if s.Secret {
			if _, there := schema.Properties[s.Name]; there {
				t.Errorf("the schema has the secret %s", s.Name)
			}
			continue
		}
		if got := schema.Properties[s.Name]; string(got.Default) != s.Default || got.Type == "" {
			t.Errorf("%s: the schema is %+v, want the default %s and a type", s.Name, got, s.Default)
		}
	}
	if got := schema.Properties["int"]; got.Minimum == nil || *got.Minimum != 10 {
		t.Errorf("the schema of int is %+v, want a minimum of 10", got)
	}
	if got := schema.Properties["choice"].Enum; !slices.Equal(got, []string{"low", "high"}) {
		t.Errorf("the choices are %v, want low and high", got)
	}
}

func FuzzCheck(f *testing.F) {
	for _, seed := range []string{`true`, `20`, `1e9`, `"a"`, `["a"]`, `null`, `{}`, `[[[`, "\"\xff\""} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, value []byte) {
		for _, s := range allTypes() {
			canonical, refusal := s.Check(value)
			if refusal != nil {
				continue
			}
			if again, refusal := s.Check(canonical); refusal != nil || string(again) != string(canonical) {
				t.Errorf("%s: the canonical form of %q is %q, of that %q", s.Name, value, canonical, again)
			}
		}
	})
}
