package wire_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/wire"
)

// refused checks that an error is one of ours, with a code of the table.
func refused(tb testing.TB, err error) *wire.Error {
	tb.Helper()
	e, ok := errors.AsType[*wire.Error](err)
	if !ok {
		tb.Fatalf("got error %v, want a *wire.Error", err)
	}
	if !slices.ContainsFunc(wire.Codes(), func(c wire.CodeInfo) bool { return c.Code == e.Code }) {
		tb.Fatalf("%v has the code %d, which is not in the table", err, e.Code)
	}
	return e
}

func TestBadMessages(t *testing.T) {
	t.Parallel()
	deep := func(n int) string {
		return strings.Repeat("[", n) + strings.Repeat("]", n)
	}
	tests := map[string]struct {
		frame string
		path  string
		says  string
		ref   wire.MessageID
	}{
		"empty":               {``, "", "JSON ends where a value should be", ""},
		"not json":            {`hello`, "", `'h' at byte 0`, ""},
		"cut off":             {`{"type":"RESET","message_id":"m1","data":{"x":`, "data.x", "JSON ends", "m1"},
		"trailing":            {`{"type":"RESET"} x`, "", "where the end should be", ""},
		"two values":          {`{"type":"RESET"}{"type":"RESET"}`, "", "where the end should be", ""},
		"byte order mark":     {"\ufeff" + `{"type":"RESET"}`, "", "where a value should be", ""},
		"nan":                 {`{"type":"RESET","x":NaN}`, "x", "where a value should be", ""},
		"leading zero":        {`{"type":"RESET","x":01}`, "", "where a comma", ""},
		"bare point":          {`{"type":"RESET","x":1.}`, "x", "where a digit should be", ""},
		"bare minus":          {`{"type":"RESET","x":-}`, "x", "where a digit should be", ""},
		"bare exponent":       {`{"type":"RESET","x":1e}`, "x", "where a digit should be", ""},
		"raw control":         {"{\"type\":\"RESET\",\"x\":\"a\nb\"}", "x", "where an escaped character should be", ""},
		"bad escape":          {`{"type":"RESET","x":"\x"}`, "x", "where an escape should be", ""},
		"bad unicode escape":  {`{"type":"RESET","x":"\u00g0"}`, "x", "where a hexadecimal digit should be", ""},
		"U+0000":              {`{"type":"USER_MESSAGE","message_id":"m1","data":{"content":"a\u0000b"}}`, "data.content", "U+0000 is not allowed in text", "m1"},
		"U+0000 in a key":     {`{"type":"COMPONENT_ACTION","data":{"windowId":"w","action":"x","formData":{"a\u0000":1}}}`, "data.formData", "U+0000 is not allowed in text", ""},
		"U+0000, free-form":   {`{"type":"APP_PROTOCOL_RESPONSE","data":{"requestId":"r","windowId":"w","response":{"kind":"query","data":["\u0000"]}}}`, "data.response.data[0]", "U+0000 is not allowed in text", ""},
		"U+0000, fast path":   {`{"type":"EMIT","data":{"actions":[{"type":"window.setContent","windowId":"w","content":{"renderer":"text","data":"\u0000"}}]}}`, "data.actions[0].content.data", "U+0000 is not allowed in text", ""},
		"no colon":            {`{"type" "RESET"}`, "", "where a colon should be", ""},
		"no key":              {`{1:2}`, "", "where a key should be", ""},
		"open string":         {`{"type":"RES`, "type", "JSON ends where the end of a string", ""},
		"trailing comma":      {`{"type":"RESET","data":{"x":[1,]}}`, "data.x[1]", "where a value should be", ""},
		"not utf-8":           {"{\"type\":\"USER_MESSAGE\",\"data\":{\"messageId\":\"m1\",\"content\":\"\xff\"}}", "", "not valid UTF-8", "m1"},
		"not an object":       {`[{"type":"RESET"}]`, "", "want an object, got an array", ""},
		"duplicate type":      {`{"type":"RESET","type":"USER_MESSAGE"}`, "type", "is there twice", ""},
		"duplicate, escaped":  {`{"type":"RESET","t\u0079pe":"RESET"}`, "type", "is there twice", ""},
		"duplicate, deep":     {`{"type":"USER_INTERACTION","message_id":"m1","data":{"interactions":[{"type":"draw","timestamp":1,"region":{"x":1,"x":2}}]}}`, "data.interactions[0].region.x", "is there twice", "m1"},
		"duplicate, unknown":  {`{"type":"RESET","data":{"what":{"a":1,"b":[{"c":1,"c":2}]}}}`, "data.what.b[0].c", "is there twice", ""},
		"too deep":            {`{"type":"RESET","message_id":"m1","x":` + deep(32) + `}`, "x" + strings.Repeat("[0]", 31), "nested deeper than 32", "m1"},
		"far too deep":        {deep(10_000), strings.Repeat("[0]", 32), "nested deeper than 32", ""},
		"huge number":         {`{"type":"RESET","data":{"messageId":"m1","x":1e999}}`, "data.x", "number 1e999 is out of range", "m1"},
		"huge negative":       {`{"type":"RESET","x":-1e999}`, "x", "out of range", ""},
		"huge without e":      {`{"type":"RESET","x":1` + strings.Repeat("0", 400) + `}`, "x", "out of range", ""},
		"no type":             {`{"data":{},"message_id":"m1"}`, "type", "is required", "m1"},
		"type is a number":    {`{"type":1}`, "type", "want a string, got a number", ""},
		"target is not a ref": {`{"type":"DELETE_QUEUED_MESSAGE","message_id":"m1","data":{"messageId":"t","monitorId":7}}`, "data.monitorId", "want a string, got a number", "m1"},
		"two refs":            {`{"type":"RESET","message_id":"m1","message_id":"m2"}`, "message_id", "is there twice", "m1"},
		"target alone":        {`{"data":{"messageId":"t","monitorId":7},"type":"DELETE_QUEUED_MESSAGE"}`, "data.monitorId", "want a string, got a number", ""},
		"unknown type":        {`{"type":"NOPE","message_id":"m1"}`, "type", `no client sends "NOPE"`, "m1"},
		"event of the hub":    {`{"type":"ACTIONS","data":{"actions":[]}}`, "type", `no client sends "ACTIONS"`, ""},
		"no data":             {`{"type":"USER_MESSAGE","message_id":"m1"}`, "data.content", "is required", "m1"},
		"null data":           {`{"type":"USER_MESSAGE","data":null}`, "data.content", "is required", ""},
		"data is a list":      {`{"type":"USER_MESSAGE","data":[]}`, "data", "want an object, got an array", ""},
		"missing field":       {`{"type":"WINDOW_MESSAGE","data":{"messageId":"m1","content":"x"}}`, "data.windowId", "is required", "m1"},
		"required is null":    {`{"type":"WINDOW_MESSAGE","data":{"windowId":null,"content":"x"}}`, "data.windowId", "want a string, got null", ""},
		"wrong type":          {`{"type":"USER_MESSAGE","data":{"messageId":"m1","content":["x"]}}`, "data.content", "want a string, got an array", "m1"},
		"boolean as text":     {`{"type":"DIALOG_FEEDBACK","data":{"dialogId":"d","confirmed":"true"}}`, "data.confirmed", "want a boolean, got a string", ""},
		"wrong type deep":     {`{"type":"USER_INTERACTION","data":{"interactions":[{"type":"draw","timestamp":1},{"type":"draw","timestamp":1},{"type":"window.move","timestamp":1,"bounds":{"x":"1","y":0,"w":0,"h":0}}]}}`, "data.interactions[2].bounds.x", "want a number, got a string", ""},
		"fraction":            {`{"type":"REWIND","data":{"ts":1.5}}`, "data.ts", "want an integer", ""},
		"integer too large":   {`{"type":"REWIND","data":{"ts":9007199254740992}}`, "data.ts", "from -9007199254740991 to 9007199254740991", ""},
		"integer overflows":   {`{"type":"REWIND","data":{"ts":18446744073709551616}}`, "data.ts", "want an integer", ""},
		"number out of range": {`{"type":"EMIT","data":{"actions":[{"type":"window.create","windowId":"w","title":"","bounds":{"x":0,"y":0,"w":1,"h":1},"content":{"renderer":"component","data":{"components":[{"type":"progress","value":101}]}}}]}}`, "data.actions[0].content.data.components[0].value", "want a number from 0 to 100, got 101", ""},
		"negative":            {`{"type":"EMIT","data":{"actions":[{"type":"toast.show","id":"t","message":"","duration":-1}]}}`, "data.actions[0].duration", "from 0 to 9007199254740991, got -1", ""},
		"too few":             {`{"type":"EMIT","data":{"actions":[]}}`, "data.actions", "want at least 1 items, got 0", ""},
		"empty text":          {`{"type":"SET_PROVIDER","data":{"provider":""}}`, "data.provider", "want at least 1 characters, got 0", ""},
		"long text":           {`{"type":"SET_PROVIDER","data":{"provider":"` + strings.Repeat("é", 65) + `"}}`, "data.provider", "want at most 64 characters, got 65", ""},
		"unknown value":       {`{"type":"USER_MESSAGE","data":{"content":"x","mode":"shout"}}`, "data.mode", `want one of chat, plan, got "shout"`, ""},
		"unknown action":      {`{"type":"EMIT","data":{"actions":[{"type":"window.explode"}]}}`, "data.actions[0].type", `unknown value "window.explode"`, ""},
		"action without type": {`{"type":"EMIT","data":{"actions":[{"windowId":"w"}]}}`, "data.actions[0].type", "is required", ""},
		"action type number":  {`{"type":"EMIT","data":{"actions":[{"type":5}]}}`, "data.actions[0].type", "want a string, got a number", ""},
		"not one of kinds":    {`{"type":"COMPONENT_ACTION","data":{"windowId":"w","action":"a","formData":{"k":[]}}}`, "data.formData.k", "want a string or a number or a boolean, got an array", ""},
		"session id":          {`{"type":"RESET","session_id":"../x","message_id":"m1"}`, "session_id", "session id has '.' at 0", "m1"},
		"session id braces":   {`{"type":"RESET","session_id":"{p1}"}`, "session_id", "session id has '{' at 0", ""},
		"session id long":     {`{"type":"RESET","session_id":"` + strings.Repeat("x", 10<<10) + `"}`, "session_id", "has 10240 characters, want 1 to 64", ""},
		"session id unicode":  {`{"type":"RESET","session_id":"세션"}`, "session_id", "session id has '세' at 0", ""},
		"session id number":   {`{"type":"RESET","session_id":1}`, "session_id", "want a string, got a number", ""},
		"message id":          {`{"type":"RESET","message_id":"a\u0001"}`, "message_id", "control character", ""},
		"message id empty":    {`{"type":"RESET","message_id":""}`, "message_id", "has 0 characters", ""},
		"timestamp number":    {`{"type":"RESET","timestamp":5}`, "timestamp", "want a string, got a number", ""},
		"window id":           {`{"type":"APP_PROTOCOL_READY","data":{"windowId":"a\u0007b"}}`, "data.windowId", "control character", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, err := wire.Native{}.DecodeMessage([]byte(tt.frame))
			if err == nil {
				t.Fatalf("got %+v, want a refusal", m)
			}
			e := refused(t, err)
			if e.Code != wire.CodeInvalidMessage || e.Path != tt.path || !strings.Contains(e.Message, tt.says) || e.Ref != tt.ref {
				t.Errorf("refused with %+v\nwant path %q, text %q, ref %q", e, tt.path, tt.says, tt.ref)
			}
			if m.Data != nil {
				t.Errorf("data of a refused message: got %+v, want none", m.Data)
			}
		})
	}
}

func TestBadMessagesInTheDesktopDialect(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		frame, path string
		ref         wire.MessageID
	}{
		"missing field":   {`{"type":"WINDOW_MESSAGE","messageId":"m1","content":"x"}`, "windowId", "m1"},
		"wrong type":      {`{"type":"USER_INTERACTION","interactions":[{"type":"draw","timestamp":"now"}]}`, "interactions[0].timestamp", ""},
		"duplicate":       {`{"type":"USER_MESSAGE","messageId":"m1","content":"a","content":"b"}`, "content", "m1"},
		"U+0000":          {`{"type":"USER_MESSAGE","messageId":"m1","content":"a\u0000"}`, "content", "m1"},
		"unknown type":    {`{"type":"HELLO","messageId":"m1"}`, "type", "m1"},
		"native envelope": {`{"type":"USER_MESSAGE","data":{"content":"x"}}`, "content", ""},
		"bad key":         {`{"type":"RESET","message_id":7}`, "message_id", ""},
		"not json":        {`42x`, "", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := wire.Desktop{}.DecodeMessage([]byte(tt.frame))
			if e := refused(t, err); e.Path != tt.path || e.Ref != tt.ref {
				t.Errorf("refused with %+v, want path %q and ref %q", e, tt.path, tt.ref)
			}
		})
	}
}

// An invalid answer to a question of a plan has the same code in both dialects.
func TestInvalidAnswers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		dialect wire.Dialect
		frame   string
	}{
		"native":  {wire.Native{}, `{"type":"hitl_plan_response","message_id":"m1","data":{"request_id":"h","action":"perhaps"}}`},
		"desktop": {wire.Desktop{}, `{"type":"hitl_plan_response","message_id":"m1","request_id":"h","action":"perhaps"}`},
	} {
		_, err := c.dialect.DecodeMessage([]byte(c.frame))
		if e := refused(t, err); e.Code != wire.CodeHITLInvalidResponse || e.Path != "action" || e.Ref != "m1" {
			t.Errorf("%s: refused with %+v, want %d for the action of m1", name, e, wire.CodeHITLInvalidResponse)
		}
	}
}

func TestGoodMessages(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("[", 31) + strings.Repeat("]", 31)
	tests := map[string]struct {
		frame string
		id    wire.MessageID
		data  wire.ClientPayload
	}{
		"unknown fields":       {`{"type":"RESET","what":{"x":[1,2]},"data":{"more":null}}`, "", wire.Reset{}},
		"as deep as allowed":   {`{"type":"RESET","x":` + deep + `}`, "", wire.Reset{}},
		"space":                {" \r\n\t{ \"type\" : \"RESET\" , \"data\" : { } } \n", "", wire.Reset{}},
		"escapes":              {`{"t\u0079pe":"\u0052ESET","data":{"\u006donitorId":"monitor\u002d0"}}`, "", wire.Reset{MonitorID: "monitor-0"}},
		"surrogates":           {`{"type":"USER_MESSAGE","data":{"content":"\ud83d\ude00 \ud83d \u00e9\/\b\f\n\r\t\"\\"}}`, "", wire.UserMessage{Content: "😀 \ufffd é/\b\f\n\r\t\"\\"}},
		"null is absent":       {`{"type":"USER_MESSAGE","message_id":null,"data":{"content":"x","messageId":null,"interactions":null}}`, "", wire.UserMessage{Content: "x"}},
		"key in the envelope":  {`{"type":"USER_MESSAGE","message_id":"e","data":{"content":"x"}}`, "e", wire.UserMessage{Content: "x"}},
		"key in the payload":   {`{"type":"USER_MESSAGE","message_id":"e","data":{"content":"x","messageId":"p"}}`, "p", wire.UserMessage{Content: "x", MessageID: "p"}},
		"target is not a key":  {`{"type":"DELETE_QUEUED_MESSAGE","message_id":"e","data":{"messageId":"t"}}`, "e", wire.DeleteQueuedMessage{Target: "t"}},
		"whole floats":         {`{"type":"REWIND","data":{"ts":1.7947e12}}`, "", wire.Rewind{TS: 1_794_700_000_000}},
		"minus zero":           {`{"type":"REWIND","data":{"ts":-0.0}}`, "", wire.Rewind{}},
		"a clock of their own": {`{"type":"RESET","timestamp":"yesterday"}`, "", wire.Reset{}},
		"seventeen keys":       {`{"type":"RESET","a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"h":1,"i":1,"j":1,"k":1,"l":1,"m":1,"n":1,"o":1,"p":1,"q":1,"r":1}`, "", wire.Reset{}},
		"key of an answer":     {`{"type":"hitl_plan_response","data":{"request_id":"h","action":"approve","messageId":"p"}}`, "p", wire.HITLPlanResponse{RequestID: "h", Action: wire.PlanApprove, MessageID: "p"}},
		"null in a form":       {`{"type":"COMPONENT_ACTION","data":{"windowId":"w","action":"a","formData":{"n":null,"t":"x"}}}`, "", wire.ComponentAction{WindowID: "w", Action: "a", FormData: wire.Object[string, wire.Scalar]{}.Set("t", wire.Scalar{Text: new("x")})}},
		"emptied shortcut":     {`{"type":"EMIT","data":{"actions":[{"type":"desktop.updateShortcut","shortcutId":"s","updates":{"icon":"","osActions":[]}}]}}`, "", wire.Emit{Actions: []wire.Action{wire.UpdateShortcut{ShortcutID: "s", Updates: wire.ShortcutPatch{Icon: new(""), OSActions: &[]wire.Action{}}}}}},
		"empty manifest":       {`{"type":"APP_PROTOCOL_RESPONSE","data":{"requestId":"r","windowId":"w","response":{"kind":"manifest","manifest":null}}}`, "", wire.AppProtocolResponse{RequestID: "r", WindowID: "w", Response: wire.AppManifestResponse{}}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, err := wire.Native{}.DecodeMessage([]byte(tt.frame))
			if err != nil {
				t.Fatal(err)
			}
			want := wire.Native{}.AppendMessage(nil, wire.Message{ID: tt.id, Data: tt.data})
			if got := (wire.Native{}).AppendMessage(nil, wire.Message{ID: m.ID, Data: m.Data}); string(got) != string(want) {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
}

func TestManyKeysAreComparedToo(t *testing.T) {
	t.Parallel()
	var keys strings.Builder
	for i := range 100 {
		keys.WriteString(`,"k` + strings.Repeat("x", i) + `":1`)
	}
	if _, err := (wire.Native{}).DecodeMessage([]byte(`{"type":"RESET"` + keys.String() + `}`)); err != nil {
		t.Error(err)
	}
	_, err := wire.Native{}.DecodeMessage([]byte(`{"type":"RESET"` + keys.String() + `,"kxx":1}`))
	if e := refused(t, err); e.Path != "kxx" {
		t.Errorf("refused with %+v, want the path kxx", e)
	}
}

func TestBadEvents(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("[", 33) + strings.Repeat("]", 33)
	for frame, path := range map[string]string{
		`{`:                                                       "",
		`{"type":"USER_MESSAGE"}`:                                 "type",
		`{"type":"ping","session_id":1}`:                          "session_id",
		`{"type":"ping","message_id":1}`:                          "message_id",
		`{"type":"ping","message_id":"x"}`:                        "message_id",
		`{"type":"ping","timestamp":1}`:                           "timestamp",
		`{"type":"ping","timestamp":"now"}`:                       "timestamp",
		`{"type":"ping","timestamp":"0000-01-01T00:00:00+01:00"}`: "timestamp",
		`{"type":"layer_complete","data":{"layer":"planning","result":{"a":"[","b":` + deep + `}}}`: "data.result",
		`{"type":"OWNER_CHANGED","data":{"replica":"r"}}`:                                           "data.epoch",
		`{"type":"OWNER_CHANGED","data":{"replica":"r","epoch":-1}}`:                                "data.epoch",
		`{"type":"EMITTED","data":{"messageId":"m","message_id":"9"}}`:                              "data.message_id",
	} {
		_, err := wire.Native{}.DecodeEvent([]byte(frame))
		if e := refused(t, err); e.Path != path {
			t.Errorf("%s refused with %+v, want path %q", frame, e, path)
		}
		if _, ok := wire.Peek([]byte(frame)); ok && (path == "" || path == "type") {
			t.Errorf("peek at %s: got it accepted, want it refused", frame)
		}
	}
}

// Our own frames may hold free-form data with duplicate keys, which the strict
// rules for clients would refuse. Known fields are then read once.
func TestEventsWithDuplicateKeys(t *testing.T) {
	t.Parallel()
	e, err := wire.Native{}.DecodeEvent([]byte(
		`{"type":"layer_complete","data":{"layer":"planning","layer":"execution","result":{"a":1,"a":2}}}`))
	if err != nil {
		t.Fatal(err)
	}
	if p, ok := e.Data.(wire.LayerComplete); !ok || p.Layer != wire.LayerPlanning || string(p.Result) != `{"a":1,"a":2}` {
		t.Errorf("event with duplicate keys: got %+v, want LAYER_COMPLETE of %s with both keys in its result", e.Data, wire.LayerPlanning)
	}
}
