package wire_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/wire"
)

func TestCheckClientTools(t *testing.T) {
	t.Parallel()
	many := make([]wire.ClientTool, 33)
	for name, tt := range map[string]struct {
		tools []wire.ClientTool
		says  string // empty means that they are allowed
	}{
		"none":               {nil, ""},
		"usual ones":         {[]wire.ClientTool{{Name: "pick_colour-2"}, {Name: "b", Parameters: json.RawMessage(`{"type":"object"}`)}, {Name: "c", Parameters: json.RawMessage(`{}`)}}, ""},
		"parameters null":    {[]wire.ClientTool{{Name: "a", Parameters: json.RawMessage(`null`)}}, ""},
		"no name":            {[]wire.ClientTool{{}}, "name of tool 0"},
		"a name with a dot":  {[]wire.ClientTool{{Name: "a.b"}}, "name of tool 0"},
		"one name twice":     {[]wire.ClientTool{{Name: "a"}, {Name: "a"}}, "two tools are called a"},
		"too many":           {many, "33 tools"},
		"too large":          {[]wire.ClientTool{{Name: "a", Parameters: json.RawMessage(`{"description":"` + strings.Repeat("x", 33<<10) + `"}`)}}, "bytes"},
		"a list as schema":   {[]wire.ClientTool{{Name: "a", Parameters: json.RawMessage(`[]`)}}, "parameters of a"},
		"a schema of a text": {[]wire.ClientTool{{Name: "a", Parameters: json.RawMessage(`{"type":"string"}`)}}, "parameters of a"},
	} {
		err := wire.CheckClientTools(tt.tools)
		if tt.says == "" && err != nil || tt.says != "" && (err == nil || !strings.Contains(err.Error(), tt.says)) {
			t.Errorf("%s: got %v, want %q", name, err, tt.says)
		}
	}
}
